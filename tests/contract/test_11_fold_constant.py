"""Contract section 11: FoldConstant, the documents' worked example."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.relay.expr import Constant, Expr, Function, If, Let, Tuple, TupleGetItem
from parpass.relay.transform import FoldConstant, InferType
from parpass.transform import PassContext
from tests.contract.marking import Run
from tests.support.watching import InfoLog

X = relay.var("x", shape=(2,))


def const(*values: float) -> Constant:
    return relay.const(np.array(values, "float32") if values[1:] else values[0])


def typed(body: Expr) -> IRModule:
    return InferType()(IRModule({"main": Function((X,), body)}))


def check(run: Run, body: Expr, expected: Expr) -> None:
    """Check what a body folds to."""
    folded = run(FoldConstant(), typed(body))
    assert_structural_equal(folded["main"], typed(expected)["main"])


def check_kept(run: Run, body: Expr) -> None:
    """Check that nothing folds, and that the function stays the same object."""
    mod = typed(body)
    assert run(FoldConstant(), mod)["main"] is mod["main"]


def test_11_1_it_is_a_function_pass_of_level_2_for_long_chains(run: Run):
    info = FoldConstant().info
    assert isinstance(FoldConstant(), relay.transform.FunctionPass)
    assert (info.opt_level, info.required) == (2, ())
    variables = [relay.var(f"v{at}") for at in range(1500)]
    body: Expr = variables[-1]
    for before, after in reversed(list(itertools.pairwise(variables))):
        body = Let(after, relay.negative(before), body)
    check(run, Let(variables[0], const(1.0), body), const(-1.0))


def test_11_2_constants_are_simple_or_tuples_and_may_be_on_a_device(run: Run):
    on_device = relay.annotation.on_device(const(1.0), "cpu")
    check(run, relay.negative(on_device), const(-1.0))
    joined = relay.concatenate(Tuple((const(1.0, 2.0), const(3.0, 4.0))), 0)
    check(run, joined, const(1.0, 2.0, 3.0, 4.0))


@pytest.mark.parametrize(
    "kept",
    [
        relay.add(X, const(1.0)),
        relay.zeros((2,), "float32"),
        relay.device_copy(const(1.0), "cpu", "cuda"),
        relay.annotation.on_device(const(1.0), "cpu"),
        Function((), relay.negative(const(1.0)), attrs={"Primitive": 1}),
        Function((p := relay.var("p", shape=(2,)),), relay.exp(p))(const(1.0, 2.0)),
    ],
    ids=["variable", "no arguments", "copy", "annotation", "primitive", "function"],
)
def test_11_3_calls_of_operators_on_constants_fold(run: Run, kept: Expr):
    check_kept(run, kept)
    check(
        run, relay.add(X, relay.add(const(1.0), const(2.0))), relay.add(X, const(3.0))
    )


def test_11_4_static_shapes_fold_by_the_type(run: Run):
    scalar = relay.const(1.0)
    for asking, answer in (
        (relay.shape_of(X, "int64"), np.array([2])),
        (relay.op.vm.shape_of(X, "int64"), np.array([2])),
        (relay.ndarray_size(relay.add(X, const(1.0) + const(1.0)), "int64"), 2),
        (relay.ndarray_size(scalar, "int64"), 1),
    ):
        check(run, asking, relay.const(np.asarray(answer, "int64")))
    unknown = relay.var("u", relay.TensorType((relay.Any(),)))
    mod = InferType()(IRModule.from_expr(relay.shape_of(unknown, "int64")))
    assert run(FoldConstant(), mod)["main"] is mod["main"]


def test_11_5_a_let_of_a_simple_constant_is_replaced_and_a_tuple_kept(run: Run):
    v = relay.var("v")
    check(run, Let(v, const(1.0) + const(1.0), X + v), X + const(2.0))
    annotated = relay.annotation.on_device(const(1.0), "cpu")
    check(run, Let(v, annotated, X + v), X + annotated)
    check_kept(run, Let(v, Tuple((const(1.0), const(2.0))), TupleGetItem(v, 0)))


def test_11_6_a_field_of_a_literal_tuple_is_taken(run: Run):
    check(run, TupleGetItem(Tuple((const(1.0), X)), 1), X)
    on_device = relay.annotation.on_device(Tuple((X,)), "cuda")
    expected = relay.annotation.on_device(X, "cuda")
    check(run, TupleGetItem(on_device, 0), expected)


@pytest.mark.parametrize("holds", [True, False])
def test_11_7_the_branch_of_a_constant_condition_is_taken(run: Run, holds: bool):
    cond = relay.logical_not(relay.const(not holds))
    taken, other = relay.negative(X), relay.exp(X)
    branches = (taken, other) if holds else (other, taken)
    check(run, If(cond, *branches), taken)


def test_11_8_several_results_are_a_tuple_of_constants(run: Run):
    halves: Any = relay.split(const(1.0, 2.0, 3.0, 4.0), 2)
    check(run, halves.astuple(), Tuple((const(1.0, 2.0), const(3.0, 4.0))))


def test_11_9_instruments_do_not_see_the_evaluation(run: Run):
    log = InfoLog()
    with PassContext(opt_level=0, instruments=[log]):
        check(run, relay.add(const(1.0), const(2.0)), const(3.0))
    assert [name for name in log.names if name != "InferType"] == ["FoldConstant"]


def test_11_10_what_does_not_change_is_the_same_object(run: Run):
    shared = relay.negative(X)
    check_kept(run, Tuple((shared, relay.add(shared, const(1.0)))))
    doubled = X + (const(1.0) + const(1.0))
    folded = run(FoldConstant(), typed(relay.multiply(doubled, doubled)))
    left, right = folded["main"].body.args
    assert left is right
