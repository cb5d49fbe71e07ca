"""The loads of an expression, each with what decides whether it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from parpass.ir.node import Node, children
from parpass.ir.operators.op_table import Op
from parpass.tir.binary_op import And, Or
from parpass.tir.expr import Call, Let, Load, Var
from parpass.tir.op import logical_not, logical_or
from parpass.tir.prim_expr import PrimExpr

_IF_THEN_ELSE = Op.get("tir.if_then_else")
_ADDRESS_OF = Op.get("tir.address_of")


class _Condition(NamedTuple):
    """What is around a load: a condition, or a name that has a value.

    Attributes:
        outer: What is around that.
        holds: The load is evaluated if this holds.
        name: What has the value, in the load and what is around it further inside.
        value: That.
    """

    outer: _Condition | None
    holds: PrimExpr | None = None
    name: Var | None = None
    value: PrimExpr | None = None


class GuardedLoad(NamedTuple):
    """A load, and what is around it.

    Attributes:
        load: The load.
        around: What decides whether it is evaluated; None if it always is.
    """

    load: Load
    around: _Condition | None

    def if_evaluated(self, check: PrimExpr) -> PrimExpr:
        """Return a check as one that holds, too, where the load is not evaluated."""
        around = self.around
        while around is not None:
            if around.holds is not None:
                check = logical_or(logical_not(around.holds), check)
            else:
                assert around.name is not None
                assert around.value is not None
                check = Let(around.name, around.value, check)
            around = around.outer
        return check


def guarded_loads(*exprs: PrimExpr) -> list[GuardedLoad]:
    """Return the loads of expressions, in the order in which they are evaluated.

    So when a load is checked, those that its index is made of have been. Of a `Select`
    both values are evaluated, as are both operands of vectors of bools.
    """
    found: list[GuardedLoad] = []
    met: set[tuple[Node, int]] = set()
    stack: list[Any] = [(one, None) for one in reversed(exprs)]
    while stack:
        item = stack.pop()
        if isinstance(item, GuardedLoad):
            found.append(item)  # what its index loads has been
            continue
        node, around = item
        # What is evaluated in any case need not be checked on a condition.
        if not met.isdisjoint(((node, id(None)), (node, id(around)))):
            continue
        met.add((node, id(around)))
        if isinstance(node, Load):
            stack.append(GuardedLoad(node, around))
        stack += reversed(list(_parts(node, around)))
    return found


def _parts(
    node: Node, around: _Condition | None
) -> Iterator[tuple[Node, _Condition | None]]:
    match node:
        case Call(op=op, args=(condition, *values)) if op is _IF_THEN_ELSE:
            yield from _chosen(condition, values, around)
        case And() if node.dtype == "bool":
            yield from ((node.a, around), (node.b, _Condition(around, node.a)))
        case Or() if node.dtype == "bool":
            otherwise = _Condition(around, logical_not(node.a))
            yield from ((node.a, around), (node.b, otherwise))
        case Let():
            named = _Condition(around, name=node.var, value=node.value)
            yield from ((node.value, around), (node.body, named))
        case Call(op=op, args=(Load() as element,)) if op is _ADDRESS_OF:
            yield (element.index, around)
        case _:
            yield from ((child, around) for child in children(node))


def _chosen(
    condition: PrimExpr, values: list[PrimExpr], around: _Condition | None
) -> Iterator[tuple[Node, _Condition | None]]:
    yield (condition, around)
    for value, holds in zip(values, (condition, logical_not(condition)), strict=True):
        yield (value, _Condition(around, holds))
