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
from parpass.ir.operators.op_table import Op, TypeRelationFn, register_op
from parpass.ir.structure.structural import assert_structural_equal
from parpass.ir.types.ty import Any
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Constant, Expr, Function, If, Let, Tuple, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.op.transform.sequence import SequenceMaskAttrs
from parpass.relay.transform import FoldConstant, InferType
from parpass.relay.transform.constant_values import ConstantChecker
from parpass.relay.transform.fold_constant import fold_constant
from parpass.relay.typing.infer import infer_type
from parpass.transform import Pass, PassContext
from tests.support.deep import DEPTHS
from tests.support.docs import shows
from tests.support.effects import effect, read


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


def test_the_documented_program_folds() -> None:
    x, two = relay.var("x", shape=(2,)), relay.var("two")
    branches = If(relay.less(const(0), two), relay.multiply(x, two), x)
    before = Function((x,), Let(two, relay.add(const(1), const(1)), branches))
    expected = Function((x,), relay.multiply(x, const(2)))
    assert_structural_equal(fold_constant(before), expected)
    assert shows(FoldConstant, IRModule.from_expr(before), IRModule.from_expr(expected))


def test_the_pass_folds_every_function_and_counts_what_it_folds() -> None:
    x = vector("x")
    body = relay.add(x, relay.negative(relay.add(const([1, 2, 3]), const(1))))
    mod = InferType()(IRModule({"f": Function((x,), body), "g": Function((x,), x)}))
    context = PassContext()
    with context:
        folded = FoldConstant()(mod)
    expected = Function((x,), relay.add(x, const([-2, -3, -4])))
    assert_structural_equal(folded["f"], infer_type(expected))
    assert folded["g"] is mod["g"]
    assert context.statistics["FoldConstant"]["folded"] == 2


def test_a_call_of_constants_in_a_tuple_folds_11_3() -> None:
    joined = relay.concatenate(Tuple((const([1]), const([2]))), 0)
    assert_structural_equal(fold_constant(joined), const([1, 2]))


@pytest.mark.parametrize(
    "kept",
    [
        relay.add(vector("x"), const(1)),
        relay.zeros((3,), "float32"),
        effect(const(1)),
        read(const(1)),
        Call(ANNOTATION, (const(1),)),
        relay.device_copy(const(1), "cpu", "cuda"),
        Call(Function((p := vector("p"),), relay.negative(p)), (const([1, 2, 3]),)),
        Function((), relay.negative(const(1))).with_attr("Primitive", 1),
    ],
    ids=lambda expr: type(expr).__name__,
)
def test_a_call_that_is_not_to_be_folded_stays_the_same_object_11_3(kept: Expr) -> None:
    assert fold_constant(kept) is kept


def test_a_primitive_function_takes_known_variables_from_outside() -> None:
    two = relay.var("two")
    primitive = Function((), relay.negative(two)).with_attr("Primitive", 1)
    folded = fold_constant(Let(two, const(2), primitive))
    expected = Function((), relay.negative(const(2))).with_attr("Primitive", 1)
    assert_structural_equal(folded, expected)


@pytest.mark.parametrize(
    ("asking", "answer"),
    [
        (relay.shape_of(relay.var("x", shape=(2, 3)), "int64"), [2, 3]),
        (relay.op.vm.shape_of(relay.var("x", shape=(2, 3)), "int64"), [2, 3]),
        (relay.ndarray_size(relay.var("x", shape=(2, 3)), "int64"), 6),
        (relay.ndarray_size(relay.var("x", "float32"), "int64"), 1),
    ],
)
def test_a_static_shape_folds_by_the_type_alone_11_4(asking: Expr, answer: int) -> None:
    expected = relay.const(np.asarray(answer, "int64"))
    assert_structural_equal(fold_constant(infer_type(asking)), expected)


def test_an_unknown_shape_stays_11_4() -> None:
    unknown = relay.var("x", relay.TensorType((Any(), 3)))
    asking = infer_type(relay.shape_of(unknown, "int64"))
    assert fold_constant(asking) is asking


def test_the_shape_of_a_rewritten_argument_folds_by_its_type_before_11_4() -> None:
    x = vector("x")
    asking = infer_type(relay.shape_of(relay.add(x, const(1) + const(2)), "int32"))
    assert_structural_equal(
        fold_constant(asking), relay.const(np.asarray([3], "int32"))
    )


def test_a_variable_bound_to_a_constant_is_replaced_11_5() -> None:
    x, v, w = vector("x"), relay.var("v"), relay.var("w")
    program = Let(v, const(1) + const(1), Let(w, relay.negative(v), x * w + v))
    assert_structural_equal(fold_constant(program), x * const(-2) + const(2))


def test_a_let_of_a_tuple_of_constants_is_kept_11_5() -> None:
    v = relay.var("v")
    program = Let(v, Tuple((const(1), const(2))), relay.TupleGetItem(v, 0))
    assert fold_constant(program) is program


def test_a_variable_on_a_device_is_replaced_with_its_annotation_11_5() -> None:
    annotated = relay.annotation.on_device(const(1), "cpu")
    v, x = relay.var("v"), vector("x")
    assert_structural_equal(fold_constant(Let(v, annotated, x + v)), x + annotated)


def test_a_constant_on_a_device_is_evaluated_11_2() -> None:
    annotated = relay.annotation.on_device(const(1), "cpu")
    assert_structural_equal(fold_constant(relay.negative(annotated)), const(-1))


def test_a_field_of_a_literal_tuple_is_taken_11_6() -> None:
    x, y = vector("x"), vector("y")
    program = relay.negative(relay.TupleGetItem(Tuple((x, y)), 1))
    assert_structural_equal(fold_constant(program), relay.negative(y))


def test_a_field_of_a_tuple_on_a_device_stays_on_it_11_6() -> None:
    x = vector("x")
    tup = relay.annotation.on_device(Tuple((x,)), "cuda")
    expected = relay.annotation.on_device(x, "cuda")
    assert_structural_equal(fold_constant(relay.TupleGetItem(tup, 0)), expected)


def test_a_field_that_is_not_there_is_left_to_type_inference() -> None:
    program = relay.TupleGetItem(Tuple((vector("x"),)), -1)
    assert fold_constant(program) is program


@pytest.mark.parametrize(("holds", "taken"), [(True, "yes"), (False, "no")])
def test_the_branch_of_a_constant_condition_is_taken_11_7(
    holds: bool, taken: str
) -> None:
    yes, no = vector("yes"), vector("no")
    cond = relay.logical_not(relay.const(not holds))
    folded = fold_constant(If(cond, yes, no))
    assert isinstance(folded, Var)
    assert folded.name_hint == taken


def test_the_branch_that_is_not_taken_is_not_evaluated_11_7() -> None:
    failing = relay.reshape(const([1, 2, 3]), (2,))
    program = If(relay.const(value=True), const(1), failing)
    assert_structural_equal(fold_constant(program), const(1))


def test_a_result_of_several_fields_is_a_tuple_of_constants_11_8() -> None:
    halves = relay.split(const([1, 2, 3, 4]), 2).astuple()
    expected = Tuple((const([1, 2]), const([3, 4])))
    assert_structural_equal(fold_constant(halves), expected)


def test_a_field_of_a_folded_result_is_taken_too_11_8() -> None:
    _, second = relay.split(const([1, 2, 3, 4]), 2)
    assert_structural_equal(fold_constant(second), const([3, 4]))


def test_an_unchanged_expression_is_the_same_object_11_10() -> None:
    x = vector("x")
    shared = relay.negative(x)
    program = Function((x,), Tuple((shared, relay.add(shared, const(1)))))
    assert fold_constant(program) is program


def test_sharing_is_preserved_11_10() -> None:
    x = vector("x")
    shared = x + (const(1) + const(1))
    folded = fold_constant(relay.multiply(shared, shared))
    assert folded.args[0] is folded.args[1]


def test_a_recursive_closure_is_left_as_it_is() -> None:
    f, n = relay.var("f"), vector("n")
    program = Let(f, Function((n,), f(n), relay.TensorType((3,))), f(vector("x")))
    assert fold_constant(program) is program


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
    "too large": relay.add(relay.full(const(1), (2**20, 2**20, 10)), const(1)),
    "too large, in tuples": relay.split(
        relay.tile(const([1, 2]), (2**40,)), 2
    ).astuple(),
    "too many to look at": relay.sum(relay.full(const(1), (2**20, 2**20, 10))),
    "a range without end": relay.arange(
        relay.const(0), relay.abs(relay.const(2**30)), relay.const(1), "float64"
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
    wanted = {"too many to look at": "sum", "too large, in tuples": "tile"}
    assert [one.level for one in said] == [DiagnosticLevel.NOTE]
    assert said[0].message.startswith("function 'odd': operator '")
    assert wanted.get(name, "") in said[0].message
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


@pytest.mark.parametrize(
    ("limit", "folds"), [(400 - 32, True), (400 - 33, False), (0, False)]
)
def test_the_option_limits_what_a_function_may_grow_by(limit: int, folds: bool) -> None:
    said: list[Diagnostic] = []
    table = relay.tile(relay.const(np.float32(1)), (100,))
    with PassContext(config={"relay.FoldConstant.max_bytes": limit}):
        folded = heard(FoldConstant(), InferType()(IRModule.from_expr(table)), said)
    assert isinstance(folded["main"].body, Constant) == folds
    assert bool(said) != folds
    if said:
        assert f"takes 400 bytes, and {limit + 32} are left for this function" in str(
            said
        )


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


@pytest.mark.parametrize(("length", "folds"), [(2**10, False), (8, True)])
def test_the_limit_holds_for_shapes_that_constants_say(
    length: int, folds: bool
) -> None:
    one = relay.const(np.ones(1, "float32"))
    for told in (
        relay.op.dyn.tile(one, relay.const(np.array([length]))),
        relay.op.dyn.nn.pad(one, relay.const(np.array([[length - 1, 0]]))),
    ):
        with PassContext(config={"relay.FoldConstant.max_bytes": 0}):
            folded = FoldConstant()(InferType()(IRModule.from_expr(told)))
        assert isinstance(folded["main"].body, Constant) == folds


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
