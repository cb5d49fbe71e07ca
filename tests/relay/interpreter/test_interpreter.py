from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import CallLimitError, EvaluationError, UnknownGlobalError
from parpass.ir.module import IRModule
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import FuncType, TensorType, TupleType, TypeVar, scalar_type
from parpass.relay import op
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    const,
    var,
)
from parpass.relay.interpreter.interpreter import create_executor, evaluate
from parpass.relay.interpreter.op_value import evaluate_call
from parpass.relay.interpreter.values import Closure
from parpass.relay.op import Op
from parpass.relay.op.declaration.type_relations import identity
from parpass.runtime.ndarray import NDArray
from tests.support.relay.deep import DEPTHS


def number(name: str = "n") -> Var:
    return var(name, "int32")


def i32(value: int) -> Constant:
    return const(value, "int32")


def counting_down(itself: Expr, step: Any) -> Function:
    """Return `fn(n) { if n == 0 { 0 } else { step(n, itself(n - 1)) } }`."""
    n = number()
    below = Call(itself, (op.subtract(n, i32(1)),))
    return Function((n,), If(op.equal(n, i32(0)), i32(0), step(n, below)))


def summing(itself: Expr) -> Function:
    return counting_down(itself, op.add)


# What each kind of node evaluates to.


def test_a_constant_is_its_array() -> None:
    values = np.array([1.0, 2.0])
    np.testing.assert_array_equal(evaluate(const(values)), values)


def test_a_function_is_called_on_its_arguments() -> None:
    x, y = var("x", shape=(2,)), var("y", shape=(2,))
    function = Function((x, y), op.subtract(x, y))
    found = evaluate(function, [np.array([3, 5], "float32"), np.ones(2, "float32")])
    assert found.tolist() == [2, 4]


def test_arguments_may_be_numbers_constants_ndarrays_and_tuples() -> None:
    x = Var("x")
    same = Function((x,), x)
    for one in (1.0, const(1.0), NDArray(np.float32(1)), np.float32(1)):
        found = evaluate(same, [one])
        assert found.dtype == "float32"
        assert found == 1
    first, second = evaluate(same, [(1, [2, 3])])
    assert first == 1
    assert [field.item() for field in second] == [2, 3]


def test_tuples_are_built_and_projected() -> None:
    pair = Tuple((i32(1), Tuple((i32(2), i32(3)))))
    found = evaluate(pair)
    assert isinstance(found, tuple)
    assert evaluate(TupleGetItem(TupleGetItem(pair, 1), 0)) == 2


def test_an_operator_of_several_results_gives_a_tuple() -> None:
    parts = op.split(const(np.arange(4)), 2)
    assert [part.tolist() for part in evaluate(parts.astuple())] == [[0, 1], [2, 3]]


def test_let_binds_in_its_body_only_and_in_order() -> None:
    x, y = number("x"), number("y")
    inner = Let(y, op.add(x, i32(1)), op.multiply(x, y))
    assert evaluate(Let(x, i32(5), inner)) == 30


def test_an_if_evaluates_only_the_branch_taken() -> None:
    unbound = Var("unbound")
    assert evaluate(If(const(True), i32(1), unbound)) == 1
    assert evaluate(If(const(False), unbound, i32(2))) == 2


def test_a_shared_node_is_evaluated_once() -> None:
    calls: list[int] = []

    def compute(_attrs: None, data: Any) -> Any:
        calls.append(1)
        return data

    seen = Op("test.seen", 1, lambda types, _attrs: types[0], compute)
    shared = Call(seen, (i32(1),))
    doubled = shared
    for _ in range(60):
        doubled = op.add(doubled, doubled)
    evaluate(Tuple((doubled, shared)))
    assert calls == [1]


def test_a_closure_sees_the_variables_around_it() -> None:
    x, y, add = number("x"), number("y"), Var("add")
    closure = Function((y,), op.add(x, y))
    used = op.add(Call(add, (i32(1),)), Call(add, (i32(2),)))
    assert evaluate(Let(x, i32(10), Let(add, closure, used))) == 23


def test_a_closure_keeps_its_variables_when_it_leaves_their_function() -> None:
    x, y, make = number("x"), number("y"), Var("make")
    adder = Function((x,), Function((y,), op.add(x, y)))
    two = Call(Call(make, (i32(2),)), (i32(10),))
    three = Call(Call(make, (i32(3),)), (i32(10),))
    found = evaluate(Let(make, adder, Tuple((two, three))))
    assert [field.item() for field in found] == [12, 13]


def test_functions_and_operators_are_values() -> None:
    f, x = Var("f"), number("x")
    twice = Function((f, x), Call(f, (Call(f, (x,)),)))
    negate = Op.get("negative")
    assert evaluate(Call(twice, (Function((x,), op.add(x, i32(1))), i32(5)))) == 7
    assert evaluate(Call(twice, (negate, i32(5)))) == 5
    assert isinstance(evaluate(Function((), twice)), Closure)


def test_a_function_calls_functions_of_its_module() -> None:
    even, odd, n = GlobalVar("even"), GlobalVar("odd"), number()

    def parity(other: GlobalVar, at_zero: bool) -> Function:
        below = Call(other, (op.subtract(n, i32(1)),))
        return Function((n,), If(op.equal(n, i32(0)), const(at_zero), below))

    module = IRModule({even: parity(odd, True), odd: parity(even, False)})
    assert evaluate(even, [7], module).item() is False
    assert evaluate(Call(odd, (i32(7),)), (), module).item() is True


def test_a_let_bound_function_calls_itself() -> None:
    itself = Var("sum")
    assert evaluate(Let(itself, summing(itself), Call(itself, (i32(100),)))) == 5050


# Depth.


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_chain_of_many_calls_is_evaluated(depth: int) -> None:
    x = number("x")
    chain: Expr = x
    for _ in range(depth):
        chain = op.add(chain, x)
    assert evaluate(Function((x,), chain), [1]) == depth + 1


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_chain_of_many_lets_is_evaluated(depth: int) -> None:
    variables = [number(f"v{at}") for at in range(depth)]
    body: Expr = variables[-1]
    for at in reversed(range(1, depth)):
        body = Let(variables[at], op.add(variables[at - 1], i32(1)), body)
    assert evaluate(Let(variables[0], i32(1), body)) == depth


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_tuples_and_ifs_nested_deeply_are_evaluated(depth: int) -> None:
    nested: Expr = i32(7)
    for _ in range(depth // 2):
        nested = TupleGetItem(Tuple((nested,)), 0)
        nested = If(const(True), nested, i32(0))
    assert evaluate(nested) == 7


@pytest.mark.slow
def test_a_program_recurses_3_000_deep() -> None:
    name = GlobalVar("sum")
    assert evaluate(name, [3_000], IRModule({name: summing(name)})) == 4_501_500
    itself = Var("sum")
    local = Let(itself, summing(itself), Call(itself, (i32(3_000),)))
    assert evaluate(local) == 4_501_500


# What cannot be evaluated.


def rejected(expr: Expr, args: Any = (), module: IRModule | None = None) -> str:
    with pytest.raises(EvaluationError) as caught:
        evaluate(expr, args, module)
    return str(caught.value)


def test_the_number_of_arguments_must_be_that_of_the_parameters() -> None:
    n = number()
    function = Function((n,), n)
    assert rejected(function) == "expected 1 arguments for a function, got 0"
    module = IRModule({"main": function})
    main = module.get_global_var("main")
    assert (
        rejected(Call(main, (n, n)), (), module) == "expected a bound variable, got 'n'"
    )
    assert (
        rejected(main, (1, 2), module)
        == "expected 1 arguments for function 'main', got 2"
    )


ANNOTATED: list[tuple[Any, Any, str]] = [
    (TensorType((2,)), np.zeros(3, "float32"), "Tensor[(3,), float32]"),
    (TensorType((2,)), np.zeros(2), "Tensor[(2,), float64]"),
    (
        TensorType((UnknownDim(),)),
        np.zeros((2, 2), "float32"),
        "Tensor[(2, 2), float32]",
    ),
    (TensorType(()), (1.0,), "(float32)"),
    (TupleType((scalar_type(),)), 1.0, "float32"),
    (TupleType((scalar_type(),)), (1.0, 1.0), "(float32, float32)"),
    (FuncType((), scalar_type()), 1.0, "float32"),
    (TensorType(()), Closure(Function((), const(1))), "a function"),
]


@pytest.mark.parametrize(("annotation", "arg", "got"), ANNOTATED)
def test_an_argument_must_have_the_annotated_type(
    annotation: Any, arg: Any, got: str
) -> None:
    x = Var("x", annotation)
    assert rejected(Function((x,), x), [arg]) == (
        f"expected {annotation} for parameter 'x' of a function, got {got}"
    )


def test_an_argument_may_have_any_type_that_the_annotation_leaves_open() -> None:
    unknown = Var("x", TensorType((UnknownDim(), 2)))
    polymorphic, pair = Var("y", TypeVar("t")), Var("z", TupleType((scalar_type(),)))
    function = Function((unknown, polymorphic, pair), pair)
    assert evaluate(function, [np.zeros((5, 2), "float32"), 1, (7.0,)]) == (7,)


def test_a_variable_must_be_bound() -> None:
    assert rejected(op.add(Var("x"), i32(1))) == "expected a bound variable, got 'x'"


def test_a_global_must_be_in_the_module() -> None:
    missing = GlobalVar("missing")
    words = "expected a function named 'missing' in the module, got none"
    assert rejected(missing) == words
    assert rejected(Call(missing, ()), (), IRModule()) == words


def test_only_functions_are_called_and_only_tuples_projected() -> None:
    x = Var("x")
    assert rejected(Let(x, i32(1), Call(x, ()))) == (
        "expected a function to call, got int32"
    )
    assert rejected(TupleGetItem(i32(1), 0)) == (
        "expected a tuple to project, got int32"
    )
    assert rejected(TupleGetItem(Tuple((i32(1),)), 1)) == (
        "expected a field below 1, got 1"
    )


def test_a_condition_is_a_scalar() -> None:
    several = const(np.array([True, False]))
    assert rejected(If(several, i32(1), i32(2))) == (
        "expected a scalar bool for the condition, got Tensor[(2,), bool]"
    )


def test_an_operator_tells_on_what_it_fails() -> None:
    call = op.add(const(np.zeros(2)), const(np.zeros(3)))
    words = rejected(call)
    assert words.startswith(
        "operator 'add' cannot be evaluated on (Tensor[(2,), float64], "
        "Tensor[(3,), float64]): operands could not be broadcast"
    )


# One call of an operator, as constant folding has it.


def test_one_call_gives_an_array_or_a_tuple_of_arrays() -> None:
    call = op.split(const(np.arange(4)), 2).astuple()
    assert isinstance(call, Call)
    found = evaluate_call(Op.get("split"), call.attrs, [np.arange(4)])
    assert [part.tolist() for part in found] == [[0, 1], [2, 3]]
    total = evaluate_call(Op.get("add"), None, [np.array(1.5), np.array(2)])
    assert isinstance(total, np.ndarray)
    assert total == 3.5


def test_a_call_has_its_operators_number_of_arguments_and_kind_of_attributes() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate_call(Op.get("add"), None, [np.array(1)])
    assert str(caught.value) == "expected 2 arguments for 'add', got 1"
    with pytest.raises(EvaluationError) as caught:
        evaluate_call(Op.get("cast"), None, [np.array(1)])
    assert str(caught.value) == (
        "expected CastAttrs for the attributes of 'cast', got NoneType"
    )


@pytest.mark.parametrize(
    "raised", [OverflowError("too large"), ZeroDivisionError("none"), KeyError("a")]
)
def test_whatever_an_operator_raises_is_an_evaluation_error(raised: Exception) -> None:
    def fail(*_: object) -> object:
        raise raised

    odd = Op("test.raises", 1, identity, fail)
    words = r"'test.raises' cannot be evaluated on \(int64\): "
    with pytest.raises(EvaluationError, match=words) as caught:
        evaluate_call(odd, None, [np.array(1)])
    assert caught.value.__cause__ is raised


def test_a_fill_value_is_converted_as_a_cast_converts_it() -> None:
    data = const(np.zeros((2, 3), "uint8"))
    for built in (
        op.sequence_mask(data, const(np.array([1, 1, 1])), 300.0),
        op.nn.pad(data, ((1, 0), (0, 0)), 300),
        op.full(300, (1,), "uint8"),
    ):
        assert evaluate(built).max() == 44


def test_the_layout_of_an_argument_does_not_change_the_bits_of_the_result() -> None:
    data = np.random.default_rng(0).standard_normal((257, 129)).astype("float32")
    weight = np.random.default_rng(1).standard_normal((31, 129)).astype("float32")
    total, dense = op.sum(Var("x"), 0), op.nn.dense(Var("x"), Var("y"))
    for layout in (np.asfortranarray(data), np.repeat(data, 2, axis=1)[:, ::2]):
        for call, args in ((total, ()), (dense, (weight,))):
            assert isinstance(call.op, Op)
            one = evaluate_call(call.op, call.attrs, [data, *args])
            other = evaluate_call(call.op, call.attrs, [layout, *args])
            assert one.tobytes() == other.tobytes()


# TVM's executor.


def test_an_executor_calls_main_by_position_and_by_name() -> None:
    x, y = var("x", shape=()), var("y", shape=())
    module = IRModule({"main": Function((x, y), op.subtract(x, y))})
    run = create_executor("graph", module, "cpu", "llvm").evaluate()
    for found in (run(5.0, 3.0), run(5.0, y=3.0), run(y=3.0, x=5.0)):
        assert isinstance(found, NDArray)
        assert found.numpy() == 2
        np.testing.assert_allclose(found, 2)


def test_an_executor_evaluates_functions_globals_and_other_expressions() -> None:
    n = number()
    function = Function((n,), Tuple((n, op.negative(n))))
    module = IRModule({"pair": function})
    executor = create_executor(mod=module)
    for callee in (function, module.get_global_var("pair")):
        assert [field.numpy() for field in executor.evaluate(callee)(3)] == [3, -3]
    assert executor.evaluate(op.add(i32(1), i32(2))).numpy() == 3
    assert isinstance(create_executor().evaluate(Let(n, function, n)), Closure)


def test_an_executor_tells_which_arguments_it_expects() -> None:
    x, y = var("x", shape=()), var("y", shape=())
    run = create_executor().evaluate(Function((x, y), x))
    with pytest.raises(EvaluationError) as caught:
        run(1.0, z=2.0)
    assert str(caught.value) == "expected arguments for 'y', got 'z'"
    with pytest.raises(EvaluationError) as caught:
        run(1.0, 2.0, x=2.0)
    assert str(caught.value) == "expected arguments for no more parameters, got 'x'"


def test_an_executor_needs_a_main_and_a_known_kind() -> None:
    with pytest.raises(UnknownGlobalError):
        create_executor().evaluate()
    with pytest.raises(EvaluationError) as caught:
        create_executor("fast")
    assert str(caught.value) == (
        "expected one of 'debug', 'graph', 'vm', 'aot' for kind, got 'fast'"
    )


def test_a_program_that_calls_itself_for_ever_ends_where_calls_are_limited() -> None:
    itself, n = GlobalVar("f"), number()
    mod = IRModule({itself: Function((n,), Call(itself, (n,)), scalar_type("int32"))})
    with pytest.raises(CallLimitError, match="at most 100 calls"):
        evaluate(itself, [1], mod, max_calls=100)


def test_a_program_of_as_many_calls_as_it_may_take_has_its_value() -> None:
    itself = GlobalVar("sum")
    mod = IRModule({itself: summing(itself)})
    assert evaluate(itself, [10], mod, max_calls=10) == 55
    with pytest.raises(CallLimitError):
        evaluate(itself, [10], mod, max_calls=9)


@pytest.mark.parametrize(
    ("given", "dtype", "found"),
    [
        (3, "float32", "float32"),
        (3, "int64", "int64"),
        (2.5, "float16", "float16"),
        (True, "bool", "bool"),
        (2.5, "int32", None),
        (300, "int8", None),
        (3, "bool", None),
        (True, "int32", None),
        (np.int32(3), "int64", None),
    ],
)
def test_a_number_of_pythons_takes_a_parameters_dtype_that_can_hold_it(
    given: Any, dtype: str, found: str | None
) -> None:
    x = Var("x", TensorType((), dtype))
    y = Var("y", TupleType((TensorType((), dtype),)))
    function = Function((x, y), Tuple((x, TupleGetItem(y, 0))))
    run = create_executor().evaluate(function)
    if found is None:
        with pytest.raises(EvaluationError, match=f"expected {dtype}"):
            run(given, [given])
        return
    results = run(given, [given])
    assert [(one.dtype, one.numpy().item()) for one in results] == [(found, given)] * 2
