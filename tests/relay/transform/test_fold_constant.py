from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt
import pytest
from threadpoolctl import ThreadpoolController

from parpass import relay
from parpass.diagnostic import Diagnostic, DiagnosticLevel, override_renderer
from parpass.errors import DiagnosticError
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op, TypeRelationFn, register_op
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Constant, Expr, Function, If, Let, Tuple, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.op.transform.indexing import SequenceMaskAttrs
from parpass.relay.transform import FoldConstant, InferType
from parpass.relay.transform.evaluator import ConstantChecker
from parpass.relay.transform.fold_constant import fold_constant
from parpass.transform import Pass, PassContext
from tests.support.relay.deep import DEPTHS


def same(_attrs: Attrs | None, value: object) -> object:
    return value


IDENTITY: TypeRelationFn = identity

ANNOTATION = register_op(
    Op("test.fold_annotation", 1, IDENTITY, same, non_computational=True)
)


def const(value: object) -> Constant:
    return relay.const(np.asarray(value, "float32"))


def vector(name: str) -> Var:
    return relay.var(name, shape=(3,))


def test_a_call_that_computes_nothing_stays_the_same_object_11_3() -> None:
    kept = Call(ANNOTATION, (const(1),))
    assert fold_constant(kept) is kept


def test_a_field_that_is_not_there_is_left_to_type_inference() -> None:
    program = relay.TupleGetItem(Tuple((vector("x"),)), -1)
    assert fold_constant(program) is program


def test_the_branch_that_is_not_taken_is_not_evaluated_11_7() -> None:
    failing = relay.reshape(const([1, 2, 3]), (2,))
    program = If(relay.const(value=True), const(1), failing)
    assert_structural_equal(fold_constant(program), const(1))


def test_folding_does_not_change_the_meaning() -> None:
    x, v = vector("x"), relay.var("v")
    shift = relay.exp(const([0, 1, 2])) * const(0.5)
    body = Let(v, shift, relay.tanh(x * v) - relay.sum(v))
    function = Function((x,), body)
    value = np.linspace(-1, 1, 3, dtype="float32")
    np.testing.assert_array_equal(
        np.asarray(evaluate(fold_constant(function), [value])),
        np.asarray(evaluate(function, [value])),
    )


NOT_EVALUATED: dict[str, Expr] = {
    "negative powers of ints": relay.power(relay.const(2), relay.const(-1)),
    "out of range": relay.gather(const([1, 2]), 0, relay.const(np.array([7]))),
    "overflowing": Call(
        relay.op.get("sequence_mask"),
        (relay.const(np.zeros((2, 3), "uint8")), relay.const(np.array([1, 1, 1]))),
        SequenceMaskAttrs(mask_value=float("inf")),
    ),
    "a size of more than 64 bits": relay.ndarray_size(
        relay.var("x", shape=(2**40, 2**40)), "int64"
    ),
}


@pytest.mark.parametrize("name", NOT_EVALUATED)
def test_what_cannot_be_evaluated_stays_with_a_note_and_ends_nothing(name: str) -> None:
    cond = relay.var("c", "bool")
    kept = NOT_EVALUATED[name]
    params = (cond, *free_vars(kept))
    mod = InferType()(IRModule({"odd": Function(params, If(cond, kept, kept))}))
    said: list[Diagnostic] = []
    folded = heard(FoldConstant(), mod, said)
    assert [one.level for one in said] == [DiagnosticLevel.NOTE]
    assert said[0].message.startswith("function 'odd': operator '")
    assert folded["odd"].ret_type == mod["odd"].ret_type
    assert not isinstance(fold_constant(kept), Constant)


def test_an_ill_typed_call_is_left_to_type_inference() -> None:
    odd = relay.reshape(const([1, 2, 3]), (2,))
    assert fold_constant(odd) is odd
    with pytest.raises(DiagnosticError, match="expected a newshape of 3 elements"):
        FoldConstant()(IRModule.from_expr(odd))


def heard(a_pass: Pass, mod: IRModule, said: list[Diagnostic]) -> IRModule:
    """Run a pass, and take down its diagnostics."""
    override_renderer(lambda context: said.extend(context.diagnostics))
    try:
        return a_pass(mod)
    finally:
        override_renderer(None)


def test_a_function_may_replace_its_own_constants_whatever_the_limit() -> None:
    weight: Expr = const(np.arange(100).reshape(10, 10))
    for _ in range(8):
        weight = relay.transpose(weight)
    with PassContext(config={"relay.FoldConstant.max_bytes": 0}):
        folded = FoldConstant()(InferType()(IRModule.from_expr(weight)))
    assert isinstance(folded["main"].body, Constant)


def test_many_results_are_not_more_than_one() -> None:
    body: Expr = relay.full(const(1), (2**24,))
    computed: list[int] = []

    def compute(_attrs: object, data: npt.NDArray[typing.Any]) -> object:
        computed.append(data.nbytes)
        return np.broadcast_to(data.flat[0], data.shape)

    double = Op("test.fold_many", 1, IDENTITY, compute)
    for _ in range(100):
        body = Call(double, (body,))
    fold_constant(body)
    assert 0 < sum(computed) < 2**29


def test_a_tensor_of_one_value_folds_at_any_size_for_it_takes_no_memory() -> None:
    folded = fold_constant(relay.full(const(1), (2**40,)))
    assert isinstance(folded, Constant)
    assert folded.data.is_uniform


def test_the_checker_knows_constants_and_tuples_of_constants() -> None:
    checker = ConstantChecker()
    inner = Tuple((const(1), Tuple(())))
    assert checker.check(const(1))
    assert checker.check(Tuple((inner, inner)))
    assert not checker.check(Tuple((inner, vector("x"))))
    assert not checker.check(relay.negative(const(1)))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_chain_of_calls_folds(depth: int) -> None:
    body: Expr = const(0)
    for _ in range(depth):
        body = relay.add(body, const(1))
    assert_structural_equal(fold_constant(body), const(depth))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_long_chain_of_lets_folds(depth: int) -> None:
    variables = [relay.var(f"v{at}") for at in range(depth)]
    body: Expr = variables[-1]
    for at in reversed(range(1, depth)):
        body = Let(variables[at], relay.negative(variables[at - 1]), body)
    folded = fold_constant(Let(variables[0], const(1), body))
    assert_structural_equal(folded, const(-1))


@pytest.mark.slow
@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("depth", DEPTHS)
def test_deeply_nested_conditions_fold(depth: int, negated: bool) -> None:
    cond: Expr = relay.var("c", "bool")
    body = cond
    for _ in range(depth // 2):
        tested = relay.logical_not(body) if negated else body
        body = If(tested, relay.const(value=True), cond)
    assert fold_constant(body) is body
    body = relay.const(value=True)
    for _ in range(depth // 2):
        body = If(body, relay.const(value=True), cond)
    assert isinstance(fold_constant(body), Constant)


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_deeply_nested_branches_fold(depth: int) -> None:
    x, cond = vector("x"), relay.var("c", "bool")
    body: Expr = x
    for at in range(depth):
        body = If(relay.const(value=True) if at % 2 else cond, body, x)
    assert len(post_order(fold_constant(body))) == 2 + depth // 2


def test_operators_are_evaluated_on_one_native_thread() -> None:
    seen: list[int] = []

    def count_threads(_attrs: Attrs | None, value: object) -> object:
        pools = ThreadpoolController().info()
        seen.extend(pool["num_threads"] for pool in pools)
        return value

    op = Op("test.fold_threads", 1, IDENTITY, count_threads)
    fold_constant(Call(op, (const(1),)))
    assert set(seen) <= {1}
