"""Machine code means what the interpreter says that loop programs mean."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from parpass import IRModule, tir
from parpass.errors import KernelError
from parpass.runtime.dtypes import numpy_dtype
from parpass.target.emission.kernel_emitter import emitted
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform.flatten_buffer import FlattenBuffer
from tests.support.drawn import PRIM_FUNCS
from tests.support.profiles import examples
from tests.support.target.compiled import (
    PLAIN,
    Elementwise,
    assert_same_by_machine_code,
    assert_same_elements,
    compiled,
)
from tests.support.tir.pass_table import DEPTH, KINDS, deep, values
from tests.support.tir.programs import vectorized_funcs

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.slow
@given(func=PRIM_FUNCS)
@examples(2)
def test_a_program_does_the_same_by_machine_code(func: Any) -> None:
    assert_same_by_machine_code(func)


@pytest.mark.slow
@given(func=PRIM_FUNCS)
@examples(0.5)
def test_so_it_does_on_the_least_processor(func: Any) -> None:
    assert_same_by_machine_code(func, PLAIN)


@pytest.mark.slow
@given(func=vectorized_funcs())
@examples(1.5)
def test_vectors_do_the_same_by_machine_code(func: Any) -> None:
    assert_same_by_machine_code(func)


def values_of(dtype: str) -> Any:
    """Return numbers at which operators are special: the least, the greatest, zeros."""
    if dtype == "bool":
        return np.array([True, False])
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        few = [0, 1, 2, 3, 7, 100, info.min, info.max, info.max - 1]
        return np.array([*few, *((-1, -2, -7) if kind.kind == "i" else ())], kind)
    some = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 3.5, 1e-5, 65504.0, 7e4, -1e30, 1e-42]
    found = np.array([*some, np.inf, -np.inf, np.nan, 2.00390625, 1.00048828125])
    with np.errstate(over="ignore"):
        return found.astype(kind)


def pairs(*dtypes: str) -> list[Any]:
    """Return arrays that have all pairs of such numbers."""
    rows = list(itertools.product(*map(values_of, dtypes)))
    return [
        np.array([row[at] for row in rows], numpy_dtype(dtype))
        for at, dtype in enumerate(dtypes)
    ]


def by_constant(op: Callable[..., Any], value: int, dtype: str) -> Callable[..., Any]:
    return lambda *args: op(*args, tir.const(value, dtype))


def called(name: str, dtype: str) -> Callable[..., Any]:
    return lambda *args: tir.call_intrin(dtype, name, *args)


def cast_to(dtype: str) -> Callable[..., Any]:
    return lambda *args: tir.Cast(dtype, *args)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_operators_of_two_operands_give_what_the_interpreter_does(dtype: str) -> None:
    arrays = pairs(dtype, dtype)
    always = (tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max)
    compared = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
    if dtype in FLOATS:
        assert_same_elements([*always, *compared, tir.Div, tir.FloorDiv], *arrays)
        return
    assert_same_elements([*always, *compared], *arrays)
    divisible = [array[arrays[1] != 0] for array in arrays]
    divisions = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
    assert_same_elements(divisions, *divisible)
    negative = (-1, -3, -8) if dtype.startswith("i") else ()
    by_constants = [
        by_constant(node, divisor, dtype)
        for node in divisions
        for divisor in (1, 3, 8, *negative)
    ]
    assert_same_elements(by_constants, values_of(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTS)
def test_operators_on_bits_give_what_the_interpreter_does(dtype: str) -> None:
    a, b = pairs(dtype, dtype)
    shift_names = ("shift_left", "shift_right")
    bitwise = ("bitwise_and", "bitwise_or", "bitwise_xor")
    of_two = [called(name, dtype) for name in (*bitwise, *shift_names)]
    assert_same_elements(of_two, a, b)
    by = (0, 1, 8 * a.dtype.itemsize - 1)
    shift = [called(name, dtype) for name in shift_names]
    shifts = [by_constant(op, n, dtype) for op in shift for n in by]
    of_one = [called("bitwise_not", dtype), tir.popcount, tir.clz, *shifts]
    assert_same_elements(of_one, values_of(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["bool", *INTS, *FLOATS])
def test_casts_give_what_the_interpreter_does(source: str) -> None:
    numbers = values_of(source)
    always = ("bool", *FLOATS, *(() if source in FLOATS else INTS))
    if source in INTS:
        always = tuple(one for one in always if one != "bfloat16")
    assert_same_elements([cast_to(one) for one in always], numbers)
    for dtype in INTS if source in FLOATS else ():
        info, wide = np.iinfo(dtype), numbers.astype("float64")
        some = numbers[(wide > float(info.min) - 1) & (wide < float(info.max))]
        assert_same_elements([cast_to(dtype)], some)


def test_a_float_beyond_all_ints_becomes_the_nearest_one() -> None:
    cast = Elementwise([cast_to("int8")], "float32")
    floats = np.array([1e9, -1e9, np.inf, -np.inf, np.nan], "float32")
    (found,) = cast.by_machine_code(floats)
    assert found.tolist() == [127, -128, 127, -128, 0]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_machines_round_is_what_numpy_does(dtype: str) -> None:
    of_one = [
        *(tir.floor, tir.ceil, tir.trunc, tir.nearbyint, tir.round),
        *(tir.sqrt, tir.isnan, tir.isinf),
        called("fabs", dtype),
    ]
    assert_same_elements(of_one, values_of(dtype))
    assert_same_elements([tir.copysign], *pairs(dtype, dtype))


def statement(make: Callable[..., tir.Stmt], *dtypes: str, length: int = 16) -> Any:
    """Return a function of arrays of one length, of which a statement is made."""
    buffers = [
        tir.decl_buffer((length,), dtype, f"B{i}") for i, dtype in enumerate(dtypes)
    ]
    return tir.PrimFunc(buffers, make(*buffers))


def test_vectors_are_loaded_and_stored_wherever_their_lanes_are() -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        here, there = tir.Ramp(8, 1, 4), tir.Ramp(0, 3, 4)
        backwards = tir.Load("int32x4", a.data, tir.Ramp(7, -1, 4))
        far = tir.Load("int32x4", a.data, there)
        mask = tir.Ramp(0, 1, 4) < tir.Broadcast(2, 4)
        some = tir.Load("int32x4", a.data, here, mask)
        spread = tir.Load("int32x4", a.data, there, mask)
        one = tir.Load("int32", a.data, 2, tir.Load("int32", a.data, 3) < 0)
        return tir.SeqStmt(
            [
                tir.Store(b.data, backwards + far, tir.Ramp(0, 1, 4)),
                tir.Store(b.data, some, tir.Ramp(4, 2, 4), mask),
                tir.Store(b.data, far, tir.Ramp(12, 1, 4), mask),
                tir.Store(b.data, spread, here),
                tir.Store(b.data, one + 5, 15),
                tir.Store(b.data, 9, 14, tir.Load("int32", a.data, 1) > 100),
            ]
        )

    func = statement(body, "int32", "int32")
    assert_same_by_machine_code(func)
    assert_same_by_machine_code(func, PLAIN)


@pytest.mark.parametrize("target", [None, PLAIN])
@pytest.mark.parametrize("stride", [2, 3, 4, 5])
def test_lanes_some_steps_apart_are_loaded(stride: int, target: str | None) -> None:
    for dtype, lanes in (("uint8", 16), ("float32", 16), ("float64", 2), ("bool", 5)):

        def body(
            a: tir.Buffer, b: tir.Buffer, dtype: str = dtype, lanes: int = lanes
        ) -> tir.Stmt:
            steps = tir.Ramp(3, stride, lanes)
            load = tir.Load(f"{dtype}x{lanes}", a.data, steps)
            return tir.Store(b.data, load, tir.Ramp(0, 1, lanes))

        func = statement(body, dtype, dtype, length=3 + (lanes - 1) * stride + 1)
        assert_same_by_machine_code(func, target)


@pytest.mark.parametrize(("lanes", "stride"), [(16, 2), (16, 3), (2, 4), (5, 4)])
def test_no_vector_that_is_loaded_for_them_ends_behind_the_last_one(
    lanes: int, stride: int
) -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        load = tir.Load(f"int32x{lanes}", a.data, tir.Ramp(0, stride, lanes))
        return tir.Store(b.data, load, tir.Ramp(0, 1, lanes))

    last = (lanes - 1) * stride
    func = statement(body, "int32", "int32", length=last + 1)
    text = emitted(FlattenBuffer()(IRModule({"main": func}))["main"], "main", ()).text
    loads = re.findall(r"i64 (\d+)\n.* = load <(\d+) x i32>", text)
    assert len(loads) == stride
    assert max(int(begin) + int(many) - 1 for begin, many in loads) == last


def test_lanes_are_shuffled_halved_and_put_together() -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        v, w = (tir.Load("float32x4", a.data, tir.Ramp(at, 1, 4)) for at in (0, 4))
        mixed = tir.Shuffle([v, w], [7, 0, 3, 4])
        low = tir.call_intrin("float32x2", "vectorlow", w)
        high = tir.call_intrin("float32x2", "vectorhigh", v)
        both = tir.call_intrin("float32x4", "vectorcombine", low, high)
        return tir.SeqStmt(
            [
                tir.Store(b.data, mixed, tir.Ramp(0, 1, 4)),
                tir.Store(b.data, both, tir.Ramp(4, 1, 4)),
                tir.Store(b.data, tir.Shuffle([v], [2]), 8),
                tir.Store(b.data, tir.Select(v < w, v, w), tir.Ramp(9, 1, 4)),
            ]
        )

    assert_same_by_machine_code(statement(body, "float32", "float32"))


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_products_of_neighbours_are_added_up_and_wrap_around(lanes: int) -> None:
    def body(a: tir.Buffer, b: tir.Buffer, c: tir.Buffer) -> tir.Stmt:
        at = tir.Ramp(0, 1, 2 * lanes)
        both = (tir.Load(f"int16x{2 * lanes}", one.data, at) for one in (a, b))
        dots = tir.call_intrin(f"int32x{lanes}", "dot_pairs", *both)
        return tir.Store(c.data, dots, tir.Ramp(0, 1, lanes))

    func = statement(body, "int16", "int16", "int32", length=2 * lanes)
    a, b = np.random.default_rng(0).integers(-9999, 9999, (2, 2 * lanes), "int16")
    a[:2] = b[:2] = -(2**15)
    sums = (a.astype("int64") * b).reshape(-1, 2).sum(1).astype("int32")
    found = np.zeros((3, 2 * lanes), "int32")
    evaluate(func, [a, b, found[0]])
    for target, result in zip(("llvm", PLAIN), found[1:], strict=True):
        compiled(func, target)["main"](a, b, result)
    for result in found:
        np.testing.assert_array_equal(result[:lanes], sums)


def test_bools_are_bytes_in_memory() -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        v, w = (tir.Load("int32x4", a.data, tir.Ramp(at, 1, 4)) for at in (0, 4))
        i = tir.Var("i")
        one = tir.BufferStore(b, tir.BufferLoad(a, [i]) > 0, [i])
        other = tir.BufferStore(b, tir.Not(tir.BufferLoad(b, [3])), [0])
        mask = tir.Or(tir.And(v < w, v > -w), tir.Not(w < v))
        lanes = tir.Store(a.data, mask.astype("int32x4"), tir.Ramp(8, 1, 4))
        return tir.SeqStmt([tir.For(i, 0, 16, 0, one), other, lanes])

    func = statement(body, "int32", "bool")
    arrays = np.arange(16, dtype="int32") - 8, np.zeros(16, bool)
    compiled(func)["main"](*arrays)
    assert arrays[1].tolist() == [True, *[False] * 8, *[True] * 7]
    assert arrays[0][8:12].tolist() == [1, 1, 1, 1]


def test_only_the_chosen_side_is_computed() -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        i = tir.Var("i")
        x = tir.BufferLoad(a, [i])
        chosen = tir.if_then_else(x == 0, 7, tir.truncdiv(100, x))
        decided = tir.all(x > 0, tir.truncdiv(6, x) > 2)
        either = tir.any(x == 0, tir.truncmod(6, x) == 0)
        value = chosen + decided.astype("int32") * 1000 + either.astype("int32") * 50
        return tir.For(i, 0, 16, 0, tir.BufferStore(b, value, [i]))

    assert_same_by_machine_code(statement(body, "int32", "int32"))


def test_a_loop_may_run_as_long_as_a_condition_holds() -> None:
    def body(a: tir.Buffer) -> tir.Stmt:
        count = tir.BufferLoad(a, [0])
        again = tir.While(count < 9, tir.BufferStore(a, count + 2, [0]))
        return tir.SeqStmt([tir.BufferStore(a, 0, [0]), again])

    assert_same_by_machine_code(statement(body, "int32"))


def test_a_function_gives_what_it_returns() -> None:
    x, y = tir.Var("x"), tir.Var("y", "float32")
    yes = tir.Evaluate(tir.ret(x * 2))
    no = tir.Evaluate(tir.ret(tir.Cast("int32", y)))
    func = tir.PrimFunc((x, y), tir.IfThenElse(x > 0, yes, no))
    run = compiled(func)["main"]
    assert (run(4, 2.5), run(-1, 2.5)) == (8, 2)
    assert run(4, 2.5).dtype == np.int32


def test_memory_is_on_the_stack_or_in_a_workspace() -> None:
    def body(a: tir.Buffer, b: tir.Buffer) -> tir.Stmt:
        parts: list[tir.Stmt] = []
        for at, length in enumerate((3, 700, 20_000, 20_000)):
            own = tir.decl_buffer((length,), "int32", f"own{at}")
            i = tir.Var("i")
            fill = tir.BufferStore(own, i * tir.BufferLoad(a, [at]), [i])
            loop = tir.For(i, 0, length, 0, fill)
            last = tir.BufferStore(b, tir.BufferLoad(own, [length - 1]), [at])
            both = tir.SeqStmt([loop, last])
            parts.append(tir.Allocate(own.data, "int32", (length,), None, both))
        inner = tir.SeqStmt(parts[2:])
        return tir.SeqStmt([*parts[:2], inner])

    func = statement(body, "int32", "int32")
    made = compiled(func)
    assert made.manifest.functions["main"].workspace == 80_000
    a, b = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    made["main"](a, b)
    assert b[:4].tolist() == [0, 699, 2 * 19_999, 3 * 19_999]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, values])
def test_text_of_deep_programs_is_written_without_recursion(
    kind: Callable[[int], tir.Stmt],
) -> None:
    func = FlattenBuffer()(IRModule({"main": deep(kind)}))["main"]
    assert emitted(func, "main", ()).text.count("\n") > DEPTH


def test_faults_are_told_and_nothing_else_happens() -> None:
    x = tir.Var("x")
    b = tir.decl_buffer((4,), "int32", "B")
    divided = tir.BufferStore(b, tir.truncdiv(tir.const(8), x), [0])
    run = compiled(tir.PrimFunc((b, x), divided))["main"]
    array = np.zeros(4, "int32")
    run(array, 2)
    assert array[0] == 4
    with pytest.raises(KernelError, match=r"other than 0, got 0 \(in 'main'\)"):
        run(array, 0)
    told = tir.AssertStmt(x < 3, tir.StringImm("too large"), divided)
    with pytest.raises(KernelError, match="an assertion does not hold: too large"):
        compiled(tir.PrimFunc((b, x), told))["main"](array, 3)


def test_accesses_out_of_bounds_are_told_if_they_are_checked() -> None:
    x = tir.Var("x")
    b = tir.decl_buffer((4,), "int32", "B")
    func = tir.PrimFunc((b, x), tir.BufferStore(b, 1, [x]))
    run = compiled(func, **{"tir.instrument_bound_checkers": True})["main"]
    array = np.zeros(4, "int32")
    run(array, 3)
    with pytest.raises(KernelError, match="OUT OF THE BOUNDS"):
        run(array, 4)
