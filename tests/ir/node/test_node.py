from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from parpass import tir
from parpass.ir.node import (
    FieldKind,
    bindings,
    children,
    outer_children,
    post_order,
    reflection,
    scopes_of,
    users_of,
)
from parpass.ir.op.op_table import Op
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Tuple,
    Var,
    const,
)
from tests.support.relay.deep import (
    ALL_KINDS,
    DEEPEST,
    DEPTH,
    KINDS,
    MAX_CALLEES,
    calls,
)
from tests.support.relay.programs import call_op

X, Y, Z = Var("x"), Var("y"), Var("z")
ADD = Op.get("add")


def test_children_come_in_order_of_evaluation():
    assert children(Call(ADD, (X, Y))) == (ADD, X, Y)
    assert children(Let(X, Y, Z)) == (X, Y, Z)
    assert children(If(X, Y, Z)) == (X, Y, Z)
    assert children(Function((X, Y), Z)) == (X, Y, Z)
    assert children(Tuple((X, Y))) == (X, Y)
    assert children(X) == ()
    assert children(ADD) == ()


def test_scopes_are_what_fields_say_wherever_these_stand():
    assert scopes_of(If(X, Y, Z)) == (Y, Z)
    assert outer_children(If(X, Y, Z)) == (X,)
    assert outer_children(Let(X, Y, Z)) == (Y,)
    branch = tir.IfThenElse(tir.Var("c", "bool"), tir.Evaluate(1))
    assert scopes_of(branch) == (branch.then_case,)
    func = tir.PrimFunc((tir.decl_buffer((8,), "int32", "A"),), tir.Evaluate(1))
    assert scopes_of(func) == (func.body,)


def test_a_rebuilt_node_has_the_new_children_and_the_old_values():
    call = Call(ADD, (X, Y), attrs=None, type_args=())
    again = reflection(Call).rebuild(call, [ADD, Z, Z])
    assert children(again) == (ADD, Z, Z)
    function = Function((X, Y), X, attrs={"Primitive": 1})
    again = reflection(Function).rebuild(function, [Y, Z, Z])
    assert (again.params, again.body) == ((Y, Z), Z)
    assert again.attrs == {"Primitive": 1}


def test_a_rebuilt_node_has_lost_its_inferred_type():
    typed = Let(X, Y, Z, None, const(1).checked_type)
    assert reflection(Let).rebuild(typed, [X, Y, Y]).checked_type_ is None


def test_bindings_are_the_variables_bound_in_the_last_child():
    assert bindings(Let(X, Y, Z)) == (X,)
    assert bindings(Function((X, Y), Z)) == (X, Y)
    assert bindings(Call(ADD, (X, Y))) == ()


def test_spans_inferred_types_and_meanings_of_operators_are_no_structure():
    assert reflection(Var).field_kinds["checked_type_"] is FieldKind.META
    assert reflection(Call).field_kinds["span"] is FieldKind.META
    assert reflection(Op).values == ("name",)
    assert reflection(Constant).values == ("data",)


def test_post_order_has_every_node_once_and_children_first():
    shared = call_op("add", X, Y)
    root = call_op("multiply", shared, shared)
    assert post_order(root) == [Op.get("multiply"), ADD, X, Y, shared, root]


def test_users_are_there_once_for_each_use():
    shared = Call(ADD, (X, Y))
    root = Call(Op.get("multiply"), (shared, shared))
    users = users_of(post_order(root))
    assert (users[shared], users[X], users[ADD]) == ([root, root], [shared], [shared])
    assert root not in users


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_post_order_goes_to_any_depth(kind: Callable[[int], Expr]):
    root = kind(DEPTH)
    order = post_order(root)
    assert len(order) > (MAX_CALLEES if kind.__name__ == "operators" else DEPTH)
    assert order[-1] is root


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_longest_chains_are_made_and_freed(kind: Callable[[int], Expr]):
    chain = Function((), kind(DEEPEST))
    last = weakref.ref(chain)
    del chain
    assert last() is None


def test_the_collector_tracks_nothing_of_a_program_of_tensors():
    program = Tuple([calls(100), const([1, 2]), call_op("abs", Var("x"))])
    gc.collect()  # tuples are not tracked any more once it has seen what is in them
    parts = [node.args for node in post_order(program) if isinstance(node, Call)]
    assert len(parts) == 101
    assert not any(map(gc.is_tracked, [program, program.fields, *parts]))
    assert not any(map(gc.is_tracked, set(post_order(program)) - {ADD, Op.get("abs")}))


def test_post_order_takes_no_longer_for_many_paths():
    assert len(post_order(calls(200))) == 202
