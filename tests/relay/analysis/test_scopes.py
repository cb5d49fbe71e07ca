from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from parpass.ir.module import IRModule
from parpass.relay.analysis import all_vars, bound_vars, free_vars, well_formed
from parpass.relay.expr import Expr, Function, If, Let, Tuple, Var, const
from tests.support.drawn import MODULES
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, KINDS, X, closures, lets
from tests.support.relay.programs import call_op, expressions

A, B, C = Var("a"), Var("b"), Var("c")


def test_free_variables_come_in_order_of_first_appearance():
    assert free_vars(Tuple((B, A, B, C))) == [B, A, C]
    assert free_vars(A) == [A]
    assert free_vars(const(1)) == []


def test_parameters_are_bound_in_the_body_alone():
    assert free_vars(Function((A,), call_op("add", A, B))) == [B]
    assert free_vars(Tuple((Function((A,), A), A))) == [A]


def test_a_let_binds_in_its_body_and_not_in_its_value():
    assert free_vars(Let(A, B, A)) == [B]
    assert free_vars(Let(A, A, const(1))) == [A]
    assert free_vars(Let(A, A, A)) == [A]
    assert free_vars(Let(A, const(1), If(A, A, B))) == [B]


def test_a_function_that_a_let_binds_may_refer_to_itself():
    calls_itself = Function((B,), A(B))
    assert free_vars(Let(A, calls_itself, A)) == []
    assert well_formed(Function((), Let(A, calls_itself, A)))
    shared = A(C)
    both = Let(A, Function((B,), Tuple((shared, B))), Tuple((shared, A)))
    assert free_vars(both) == [C]
    assert free_vars(Let(A, Tuple((calls_itself,)), A)) == [A]


def test_a_node_shared_between_scopes_has_the_free_variables_of_each():
    shared = call_op("negative", A)
    assert free_vars(Let(A, const(1), Tuple((shared, shared)))) == []
    assert free_vars(Tuple((Let(A, const(1), shared), shared))) == [A]
    assert free_vars(Let(B, shared, Let(A, const(1), shared))) == [A]


def test_a_node_shared_by_nested_scopes_belongs_to_the_outer_one():
    shared = call_op("negative", A)
    body = Let(B, const(1), Tuple((shared, Function((C,), shared))))
    assert free_vars(Let(A, const(1), Tuple((body, shared)))) == []


def test_bound_and_all_variables_come_in_order_of_first_appearance():
    expr = Let(B, C, Function((A,), call_op("add", A, B)))
    assert bound_vars(expr) == [B, A]
    assert all_vars(expr) == [B, C, A]


@pytest.mark.slow
@given(expressions())
@examples(1.25)
def test_in_well_formed_programs_a_variable_is_free_or_bound(expr: Expr):
    assert well_formed(expr)
    assert set(free_vars(expr)) | set(bound_vars(expr)) == set(all_vars(expr))
    assert not set(free_vars(expr)) & set(bound_vars(expr))


@pytest.mark.slow
@given(MODULES)
@examples(1.25)
def test_generated_modules_are_well_formed(module: IRModule):
    assert well_formed(module)


@pytest.mark.parametrize(
    "expr",
    [
        Function((A, A), A),
        Let(A, const(1), Let(A, const(2), A)),
        Tuple((Function((A,), A), Function((A,), A))),
        Tuple((Let(A, const(1), A), A)),
        Let(A, A, A),
    ],
)
def test_a_variable_bound_twice_or_used_out_of_scope_is_not_well_formed(expr: Expr):
    assert not well_formed(expr)
    assert not well_formed(IRModule({"f": expr}))


def test_a_closure_used_twice_binds_its_parameters_once():
    closure = Function((A,), A)
    assert well_formed(Tuple((closure, closure)))
    assert well_formed(call_op("add", A, B))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_has_its_free_variables(kind: Callable[[int], Expr]):
    root = kind(DEPTH)
    assert X in free_vars(root)
    assert well_formed(root)


def test_a_node_used_at_every_depth_takes_near_linear_time():
    shared = call_op("negative", X)
    expr: Expr = shared
    for _ in range(3000):
        name = Var("v")
        expr = Let(name, shared, call_op("add", expr, name))
    assert free_vars(expr) == [X]
    assert well_formed(Tuple((lets(100), closures(100))))
