"""Loop programs evaluated on numpy: what statements and expressions mean, faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from parpass import register_func, remove_global_func, tir
from parpass.errors import EvaluationError, SizeLimitError, StepLimitError
from parpass.ir import PointerType, PrimType
from parpass.tir.interpreter.evaluation import evaluate
from tests.support.drawn import PRIM_FUNCS
from tests.support.profiles import examples
from tests.support.tir.values import arguments

DEPTH = 3_000


def pointer_to(dtype: str) -> Any:
    return PointerType(PrimType(dtype))


def stored(value: Callable[[tir.Var], Any], dtype: str = "int32") -> Any:
    """Return `A[i] = value(i)` for each i, and what it takes to run it."""
    i, n = tir.Var("i"), tir.SizeVar("n")
    buffer = tir.decl_buffer((n,), dtype, "A")
    body = tir.BufferStore(buffer, value(i), [i])
    return tir.PrimFunc((buffer,), tir.For(i, 0, n, tir.ForKind.SERIAL, body))


def run(value: Callable[[tir.Var], Any], dtype: str = "int32", count: int = 6) -> Any:
    array = np.zeros(count, dtype)
    evaluate(stored(value, dtype), [array])
    return array.tolist()


def test_loops_write_to_the_array_that_is_given():
    assert run(lambda i: i * 2 + 1) == [1, 3, 5, 7, 9, 11]


def test_ints_wrap_around_as_those_of_machines_do():
    assert run(lambda i: (i + 127).astype("int8"), "int8", 2) == [127, -128]
    assert run(lambda i: tir.const(2**31 - 1, "int32") + i, count=2)[1] == -(2**31)


def test_divisions_round_as_their_names_say():
    assert run(lambda i: tir.truncdiv(i - 4, 2), count=4) == [-2, -1, -1, 0]
    assert run(lambda i: tir.floordiv(i - 4, 3), count=4) == [-2, -1, -1, -1]
    assert run(lambda i: tir.truncmod(i - 4, 3), count=4) == [-1, 0, -2, -1]
    assert run(lambda i: tir.floormod(i - 4, 3), count=4) == [2, 0, 1, 2]


def test_of_an_expression_that_chooses_only_one_side_is_evaluated():
    assert run(lambda i: tir.if_then_else(i > 1, tir.truncdiv(6, i), 9), count=4) == [
        *(9, 9, 3, 2)
    ]
    with pytest.raises(EvaluationError, match="a divisor other than 0"):
        run(lambda i: tir.Select(i > 1, tir.truncdiv(tir.const(6), i), 9))
    found = run(lambda i: tir.all(i > 0, tir.truncdiv(6, i) > 2).astype("int32"))
    assert found == [0, 1, 1, 0, 0, 0]


def test_calls_of_operators_compute_what_numpy_does():
    found = run(lambda i: tir.exp(i.astype("float32")), "float32", 3)
    assert found == np.exp(np.arange(3, dtype="float32")).tolist()
    assert run(lambda i: tir.popcount(i), count=4) == [0, 1, 1, 2]
    assert run(lambda i: i << 2, count=3) == [0, 4, 8]
    assert run(lambda i: tir.reinterpret("int32", i.astype("float32")), count=2) == [
        *(0, 0x3F800000)
    ]


def test_vectors_are_loaded_and_stored_lane_by_lane():
    data = tir.Var("p", pointer_to("float32"))
    loaded = tir.Load("float32x4", data, tir.Ramp(0, 2, 4))
    body = tir.Store(data, loaded * 2.0, tir.Ramp(4, 1, 4))
    array = np.arange(8, dtype="float32")
    evaluate(tir.PrimFunc((data,), body), [array])
    assert array.tolist() == [0, 1, 2, 3, 0, 4, 8, 12]


def test_lanes_whose_predicate_does_not_hold_are_left_alone():
    data = tir.Var("p", pointer_to("int32"))
    lanes = tir.Ramp(0, 1, 4)
    body = tir.Store(data, lanes * 5, lanes * 3, lanes < tir.Broadcast(2, 4))
    array = np.zeros(4, "int32")
    evaluate(tir.PrimFunc((data,), body), [array])
    assert array.tolist() == [0, 0, 0, 5]


def test_memory_of_a_program_lasts_for_its_scope():
    ib = tir.ir_builder.create()
    out = ib.pointer("int32", name="out")
    own = ib.allocate("int32", 4, name="own")
    with ib.for_range(0, 4, name="i") as i:
        own[i] = i * i
    with ib.for_range(0, 4, name="j") as j:
        out[j] = own[3 - j]
    array = np.zeros(4, "int32")
    evaluate(tir.PrimFunc((out.asobject(),), ib.get()), [array])
    assert array.tolist() == [9, 4, 1, 0]


def test_a_while_loop_runs_as_long_as_its_condition_holds():
    ib = tir.ir_builder.create()
    out = ib.pointer("int32", name="out")
    with ib.while_loop(out[0] < 100):
        out[0] = out[0] * 3
    func = tir.PrimFunc((out.asobject(),), ib.get())
    array = np.array([1], "int32")
    evaluate(func, [array])
    assert array.tolist() == [243]
    with pytest.raises(StepLimitError, match="at most 50 steps"):
        evaluate(func, [np.array([0], "int32")], max_steps=50)


def test_a_program_returns_what_it_evaluates_ret_of():
    n = tir.Var("n", "int64")
    body = tir.SeqStmt([tir.Evaluate(tir.ret(n * 2)), tir.Evaluate(tir.ret(n))])
    assert evaluate(tir.PrimFunc((n,), body), [21]) == 42


def test_functions_of_the_registry_are_called_with_arrays_and_numbers():
    seen: list[Any] = []

    def take(array: Any, number: int) -> int:
        seen.append((array.tolist(), number))
        array[0] = 7
        return 3

    register_func("tests.tir.take", take)
    try:
        buffer = tir.decl_buffer((3,), "int32", "A")
        call = tir.call_packed("tests.tir.take", buffer.access_ptr("rw", offset=1), 5)
        array = np.arange(3, dtype="int32")
        func = tir.PrimFunc((buffer,), tir.Evaluate(tir.ret(call)))
        assert evaluate(func, [array]) == 3
    finally:
        remove_global_func("tests.tir.take")
    assert seen == [([1, 2], 5)]
    assert array.tolist() == [0, 7, 2]


def test_arrays_that_are_not_in_one_piece_are_written_to_as_well():
    array = np.zeros(12, "int32")
    evaluate(stored(lambda i: i + 1), [array[::2]])
    assert array.tolist()[:4] == [1, 0, 2, 0]


def test_an_access_out_of_bounds_says_which_and_where():
    i, buffer = tir.Var("i"), tir.decl_buffer((4, 5), "int32", "A")
    body = tir.BufferStore(buffer, 1, [0, i + 3])
    func = tir.PrimFunc((buffer,), tir.For(i, 0, 4, 0, body))
    with pytest.raises(EvaluationError) as found:
        evaluate(func.with_attr("global_symbol", "f"), [np.zeros((4, 5), "int32")])
    assert str(found.value) == (
        "expected an index from 0 to below 5 in dimension 1 of buffer 'A', got 5 in "
        "'f' where i = 2"
    )


def test_what_nobody_has_written_is_not_read():
    ib = tir.ir_builder.create()
    own = ib.allocate("int32", 4, name="own")
    own[1] = own[0]
    with pytest.raises(EvaluationError, match=r"written before .* 'own' is not at 0"):
        evaluate(tir.PrimFunc((), ib.get()))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "expected 1 arguments, got 0"),
        ([3], "expected an array for parameter 'A', got int"),
        ([np.array([None])], "expected numbers for parameter 'A', got an array of obj"),
        ([np.zeros(3)], "an array of int32 with 1 dimensions for buffer 'A', got one"),
        ([np.zeros((2, 2), "int32")], "with 1 dimensions"),
        ([np.zeros(3, "int32")], "expected 4 for dimension 0 of buffer 'A', got 3"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: list[Any], message: str):
    buffer = tir.decl_buffer((4,), "int32", "A")
    with pytest.raises(EvaluationError, match=message):
        evaluate(tir.PrimFunc((buffer,), tir.Evaluate(0)), args)


def test_free_variables_need_values():
    n = tir.SizeVar("n")
    func = tir.PrimFunc((), tir.Evaluate(tir.ret(n + 1)))
    assert evaluate(func, variables={n: 4}) == 5
    with pytest.raises(EvaluationError, match="a bound variable, got 'n'"):
        evaluate(func)


def test_assertions_that_do_not_hold_are_errors():
    body = tir.AssertStmt(tir.Var("x") > 3, "x is small", tir.Evaluate(0))
    func = tir.PrimFunc((body.condition.a,), body)
    evaluate(func, [4])
    with pytest.raises(EvaluationError, match="does not hold: x is small"):
        evaluate(func, [3])


def test_programs_may_be_deep():
    x = tir.Var("x")
    total: tir.PrimExpr = x
    for _ in range(DEPTH):
        total = total + x
    body: tir.Stmt = tir.Evaluate(tir.ret(total))
    for at in range(DEPTH):
        body = tir.For(tir.Var(f"i{at}"), 0, 1, 0, body)
    assert evaluate(tir.PrimFunc((x,), body), [2]) == 2 * (DEPTH + 1)


@given(func=PRIM_FUNCS)
@examples(1.25)
def test_generated_programs_have_values(func: tir.PrimFunc):
    args = arguments(func)
    evaluate(func, args, max_steps=100_000)


def test_operands_that_are_shared_without_end_are_refused():
    total: tir.PrimExpr = tir.Var("x")
    func = tir.PrimFunc([total], tir.Evaluate(total))
    assert evaluate(func, [1]) is None
    for _ in range(60):
        total = tir.Add(total, total)
    with pytest.raises(SizeLimitError, match="bind expressions that are used often"):
        evaluate(func.with_body(tir.Evaluate(total)), [1])
