"""Expressions for all rounds of a loop at once: vectors with a lane for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import structs

from parpass.ir.node import Node, children
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Add,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    Let,
    Load,
    Mul,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
)
from parpass.tir.op import add, const, multiply, subtract
from parpass.tir.op.builtin import is_vectorizable
from parpass.tir.stmt_expr_functor import StmtExprMutator

_IF_THEN_ELSE = Op.get("tir.if_then_else")


def lanes_of(expr: PrimExpr) -> int:
    """Return how many lanes an expression has."""
    return data_type(expr.dtype).lanes


def aligned(values: Sequence[PrimExpr]) -> list[PrimExpr] | None:
    """Return values, scalars made vectors of the lanes of the widest.

    None if a vector of other lanes is among them.
    """
    lanes = max(map(lanes_of, values), default=1)
    found: list[PrimExpr] = []
    for one in values:
        is_repeated = isinstance(one, Broadcast) and lanes_of(one) < lanes
        scalar = one.value if is_repeated else one
        if lanes_of(scalar) not in (1, lanes):
            return None
        found.append(scalar if lanes_of(scalar) == lanes else Broadcast(scalar, lanes))
    return found


class ExprVectorizer(StmtExprMutator):
    """Makes vectors of expressions that depend on a loop's variable.

    Args:
        var: The variable.
        ramp: What it is in all rounds.

    Attributes:
        is_stuck: Whether something was met that there is no vector of.
        lets: What variables are that the loop binds.
    """

    def __init__(self, var: Var, ramp: Ramp) -> None:
        super().__init__()
        self.var, self.ramp = var, ramp
        self.is_stuck = False
        self.lets: dict[Var, Var] = {}

    def _stuck(self, expr: PrimExpr) -> PrimExpr:
        self.is_stuck = True
        return expr

    def _new(self, expr: Node) -> list[Any]:
        return [self.visit(child) for child in children(expr)]

    def _binary(self, op: Any) -> Node:
        old, new = (op.a, op.b), self._new(op)
        if unchanged(old, new):
            return op
        found = aligned(new)
        return self._stuck(op) if found is None else type(op)(*found, span=op.span)

    visit_div_ = visit_mod_ = visit_floor_div_ = visit_floor_mod_ = _binary
    visit_min_ = visit_max_ = visit_and_ = visit_or_ = _binary
    visit_eq_ = visit_ne_ = visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = _binary

    def visit_add_(self, op: Add) -> Node:
        """Move a ramp, or add vectors."""
        a, b = self._new(op)
        if isinstance(a, Ramp) and lanes_of(b) == 1:
            return Ramp(add(a.base, b), a.stride, a.lanes)
        if isinstance(b, Ramp) and lanes_of(a) == 1:
            return Ramp(add(a, b.base), b.stride, b.lanes)
        return self._binary(op)

    def visit_sub_(self, op: Sub) -> Node:
        """Move a ramp, or turn it around, or subtract vectors."""
        a, b = self._new(op)
        if isinstance(a, Ramp) and lanes_of(b) == 1:
            return Ramp(subtract(a.base, b), a.stride, a.lanes)
        if isinstance(b, Ramp) and lanes_of(a) == 1:
            stride = subtract(const(0, b.stride.dtype), b.stride)
            return Ramp(subtract(a, b.base), stride, b.lanes)
        return self._binary(op)

    def visit_mul_(self, op: Mul) -> Node:
        """Stretch a ramp by a positive constant, or multiply vectors."""
        a, b = self._new(op)
        for one, factor in ((a, b), (b, a)):
            if (
                isinstance(one, Ramp)
                and isinstance(factor, IntImm)
                and factor.value > 0
            ):
                stride = multiply(one.stride, factor)
                return Ramp(multiply(one.base, factor), stride, one.lanes)
        return self._binary(op)

    def visit_not_(self, op: Not) -> Node:
        """Negate a vector."""
        a = self.visit(op.a)
        return op if a is op.a else Not(cast("PrimExpr", a), op.span)

    def visit_cast_(self, op: Cast) -> Node:
        """Cast a vector."""
        value: Any = self.visit(op.value)
        if value is op.value:
            return op
        dtype = data_type(op.dtype).with_lanes(lanes_of(value))
        return Cast(dtype, value, op.span)

    def visit_select_(self, op: Select) -> Node:
        """Select lane by lane."""
        new = self._new(op)
        if unchanged(children(op), new):
            return op
        is_scalar = lanes_of(new[0]) == 1
        found = aligned(new[is_scalar:])
        if found is None:
            return self._stuck(op)
        condition, true, false = [*new[:is_scalar], *found]
        return Select(condition, true, false, op.span)

    def visit_broadcast_(self, op: Broadcast) -> Node:
        """Repeat a scalar; a vector cannot be repeated."""
        value: Any = self.visit(op.value)
        if value is op.value:
            return op
        if lanes_of(value) > 1:
            return self._stuck(op)
        return Broadcast(value, op.lanes, op.span)

    def visit_ramp_(self, op: Ramp) -> Node:
        """Make one ramp of a ramp for each round, where they follow each other."""
        base, stride = self._new(op)
        if unchanged(children(op), (base, stride)):
            return op
        if lanes_of(base) == lanes_of(stride) == 1:
            return Ramp(base, stride, op.lanes, op.span)
        if isinstance(base, Ramp) and _follow(base, stride, op.lanes):
            return Ramp(base.base, stride, op.lanes * base.lanes, op.span)
        found = aligned((base, stride))
        if found is None:
            return self._stuck(op)
        lanes = lanes_of(found[0])
        picked = [[Shuffle((one,), (at,)) for one in found] for at in range(lanes)]
        ramps = [Ramp(begin, by, op.lanes) for begin, by in picked]
        return Shuffle(ramps, tuple(range(lanes * op.lanes)))

    def visit_shuffle_(self, op: Shuffle) -> Node:
        """Leave what does not change; there is no shuffle of more lanes."""
        return op if unchanged(children(op), self._new(op)) else self._stuck(op)

    def visit_load_(self, op: Load) -> Node:
        """Load what all rounds do."""
        var, index, predicate = self._new(op)
        if unchanged((op.buffer_var, op.index, op.predicate), (var, index, predicate)):
            return op
        found = aligned((index, predicate))
        if found is None or lanes_of(op) not in (1, lanes_of(op.index)):
            return self._stuck(op)
        dtype = data_type(op.dtype).with_lanes(lanes_of(found[0]))
        return Load(dtype, op.buffer_var, *found, span=op.span)

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        """Leave what does not change; a buffer is indexed by scalars."""
        new = [self.visit(one) for one in op.indices]
        return op if unchanged(op.indices, new) else self._stuck(op)

    def visit_call_(self, op: Call) -> Node:
        """Call a vectorizable operator with vectors."""
        new = [cast("Any", self.visit(one)) for one in op.args]
        if unchanged(op.args, new):
            return op
        lanes = max(map(lanes_of, new), default=1)
        is_choice = op.op is _IF_THEN_ELSE
        if is_choice and lanes_of(new[0]) > 1:
            return self._stuck(op)
        wide = lanes > 1 and any(
            lanes_of(one) != lanes_of(old)
            for one, old in zip(new, op.args, strict=True)
        )
        if not wide:
            return Call(op.dtype, op.op, new, op.span)
        if not is_choice and not (isinstance(op.op, Op) and is_vectorizable(op.op)):
            return self._stuck(op)
        found = aligned(new[is_choice:])
        if found is None:
            return self._stuck(op)
        args = [*new[:is_choice], *found]
        return Call(data_type(op.dtype).with_lanes(lanes), op.op, args, op.span)

    def visit_var_(self, op: Var) -> Node:
        """Put what a variable is in all rounds in its place."""
        return self.ramp if op is self.var else self.lets.get(op, op)

    def visit_let_(self, op: Let) -> Any:
        """Bind a vector to a variable of its dtype."""
        value = yield from self.visit_child(op.value)
        var = self.bound(op.var, value)
        body = yield from self.visit_child(op.body)
        self.lets.pop(op.var, None)
        if unchanged((op.var, op.value, op.body), (var, value, body)):
            return op
        return Let(var, value, body, op.span)

    def bound(self, var: Var, value: PrimExpr) -> Var:
        """Return the variable that is bound to a value: a new one if it is a vector."""
        if value.dtype == var.dtype:
            return var
        new = structs.replace(var, dtype=value.dtype, type_annotation=None)
        self.lets[var] = new
        return new


def unchanged(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Return whether all are the same objects."""
    return all(one is other for one, other in zip(old, new, strict=True))


def _follow(base: Ramp, stride: PrimExpr, lanes: int) -> bool:
    """Return whether each ramp begins where the one before ends."""
    if not (isinstance(base.stride, IntImm) and isinstance(stride, IntImm)):
        return False
    return base.stride.value == stride.value * lanes
