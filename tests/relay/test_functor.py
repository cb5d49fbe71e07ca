from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from parpass.errors import IRTypeError
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.structural import structural_equal
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
)
from parpass.relay.functor import ExprFunctor, ExprMutator, ExprVisitor
from tests.support.drawn import FUNCTIONS
from tests.support.profiles import examples
from tests.support.relay.deep import COND, DEPTH, KINDS, X, lets
from tests.support.relay.programs import call_op

Y, Z = Var("y"), Var("z")


class KindOf(ExprFunctor[str]):
    def visit_var(self, var: Var) -> str:
        return f"var {var.name_hint}"

    def visit_global_var(self, global_var: GlobalVar) -> str:
        return f"global {global_var.name_hint}"

    def visit_constant(self, const: Constant) -> str:
        return f"constant {const.data.dtype}"

    def visit_op(self, op: Op) -> str:
        return f"op {op.name}"

    def visit_call(self, call: Call) -> str:
        return f"call of {self.visit(call.op)}"

    def visit_tuple(self, tup: Tuple) -> str:
        return f"tuple of {len(tup)}"

    def visit_tuple_getitem(self, op: TupleGetItem) -> str:
        return f"item {op.index}"

    def visit_let(self, let: Let) -> str:
        return f"let {self.visit(let.var)}"

    def visit_if(self, if_: If) -> str:
        return f"if {self.visit(if_.cond)}"

    def visit_function(self, fn: Function) -> str:
        return f"function of {len(fn.params)}"


@pytest.mark.parametrize(
    ("expr", "result"),
    [
        (Y, "var y"),
        (GlobalVar("main"), "global main"),
        (const(1), "constant int32"),
        (Op.get("add"), "op add"),
        (call_op("add", Y, Z), "call of op add"),
        (Tuple((Y, Z)), "tuple of 2"),
        (TupleGetItem(Y, 3), "item 3"),
        (Let(Y, Z, Y), "let var y"),
        (If(Y, Z, Z), "if var y"),
        (Function((Y, Z), Y), "function of 2"),
    ],
)
def test_every_kind_has_its_method(expr: Expr, result: str):
    assert KindOf().visit(expr) == result


def test_a_kind_without_a_method_is_named():
    class Nothing(ExprFunctor[None]):
        pass

    with pytest.raises(NotImplementedError, match=r"Nothing .* a Var; .*visit_var"):
        Nothing().visit(Y)


def test_only_expressions_are_visited():
    with pytest.raises(IRTypeError, match="expected an expression, got str"):
        ExprVisitor().visit("x")  # pyright: ignore[reportArgumentType]


class Trace(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Expr] = []

    def visit_default(self, expr: Expr) -> None:
        super().visit_default(expr)
        self.seen.append(expr)


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_a_visitor_sees_the_nodes_in_post_order(function: Function):
    trace = Trace()
    trace.visit(function)
    assert trace.seen == post_order(function)


def test_results_are_remembered_between_visits():
    trace = Trace()
    shared = call_op("add", Y, Z)
    trace.visit(Tuple((shared, shared)))
    count = len(trace.seen)
    trace.visit(shared)
    assert len(trace.seen) == count
    assert shared in trace.memo_map


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_a_mutator_that_changes_nothing_gives_the_same_object(function: Function):
    assert ExprMutator().visit(function) is function


class Replace(ExprMutator):
    """Puts one variable in the place of another."""

    def __init__(self, old: Var, new: Expr) -> None:
        super().__init__()
        self.memo_map[old] = new


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_renaming_a_variable_keeps_the_structure(function: Function):
    old = function.params[0]
    renamed = Replace(old, Var("other", old.type_annotation)).visit(function)
    assert renamed is not function
    assert old not in post_order(renamed)
    assert structural_equal(renamed, function)


def test_a_shared_node_is_rewritten_once_and_stays_shared():
    shared = call_op("add", Y, Z)
    result = Replace(Y, const(1)).visit(Tuple((shared, shared)))
    assert isinstance(result, Tuple)
    assert result[0] is result[1] is not shared


def test_what_does_not_change_is_shared_with_the_old_program():
    kept, changed = call_op("negative", Z), call_op("negative", Y)
    result = Replace(Y, const(1)).visit(Tuple((kept, changed)))
    assert isinstance(result, Tuple)
    assert result[0] is kept


def test_rewritten_nodes_have_no_inferred_type():
    typed = TupleGetItem(Y, 0, None, const(1).checked_type)
    assert getattr(Replace(Y, Z).visit(typed), "checked_type_", 1) is None


class Subtract(ExprMutator):
    """Makes subtractions of additions; `super()` rewrites the children."""

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if new.op is Op.get("add"):
            return Call(Op.get("subtract"), new.args)
        return new


def test_an_overridden_method_sees_its_children_rewritten():
    result = Subtract().visit(call_op("add", call_op("add", Y, Z), Y))
    expected = call_op("subtract", call_op("subtract", Y, Z), Y)
    assert structural_equal(result, expected)


class Inline(ExprMutator):
    """Puts the values of `let`s in the places of their variables, in its own order."""

    def visit_let(self, let: Let) -> Expr:
        body: Expr = let
        while isinstance(body, Let):
            self.memo_map[body.var] = self.visit(body.value)
            body = body.body
        return self.visit(body)

    def visit_if(self, if_: If) -> Expr:
        return self.visit(if_.true_branch)

    def visit_function(self, fn: Function) -> Expr:
        return Function((*fn.params, Z), self.visit(fn.body))


def test_a_scope_may_be_visited_in_an_order_of_its_own():
    let = Let(Y, call_op("negative", X), call_op("add", Y, Y))
    negative = call_op("negative", X)
    assert structural_equal(Inline().visit(let), call_op("add", negative, negative))
    assert Inline().visit(If(COND, X, Y)) is X
    function = Inline().visit(Function((X,), X))
    assert isinstance(function, Function)
    assert function.params == (X, Z)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_is_visited_and_rewritten(kind: Callable[[int], Expr]):
    root = kind(DEPTH)
    trace = Trace()
    trace.visit(root)
    assert trace.seen == post_order(root)
    assert ExprMutator().visit(root) is root
    assert Replace(X, Y).visit(root) is not root


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_is_rewritten_with_overridden_calls(kind: Callable[[int], Expr]):
    root = kind(DEPTH)
    result = Subtract().visit(root)
    assert (result is root) == (kind.__name__ != "calls")


@pytest.mark.slow
def test_a_long_chain_of_lets_is_visited_in_an_order_of_its_own():
    assert len(post_order(Inline().visit(lets(DEPTH)))) == DEPTH + 2
