"""What loop expressions come to on Python's ints, with TVM's meaning.

Ints are not wrapped: index arithmetic is taken not to overflow. A vector is a tuple.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

from parpass import tir
from parpass.ir.node import children
from parpass.ir.op.op_table import Op
from parpass.tir.op.const_fold import trunc_div, trunc_mod

_COMPUTE: dict[type[Any], Callable[[Any, Any], Any]] = {
    tir.Add: operator.add,
    tir.Sub: operator.sub,
    tir.Mul: operator.mul,
    tir.Div: trunc_div,
    tir.Mod: trunc_mod,
    tir.FloorDiv: lambda a, b: a // b,
    tir.FloorMod: operator.mod,
    tir.Min: min,
    tir.Max: max,
    tir.EQ: operator.eq,
    tir.NE: operator.ne,
    tir.LT: operator.lt,
    tir.LE: operator.le,
    tir.GT: operator.gt,
    tir.GE: operator.ge,
    tir.And: lambda a, b: a and b,
    tir.Or: lambda a, b: a or b,
}


class Undefined(Exception):  # noqa: N818 -- no error of a program
    """The value is of no meaning: something is divided by zero."""


def value_of(expr: tir.PrimExpr, values: Mapping[Any, int]) -> Any:
    """Return the value of an expression, by those of its variables.

    Raises:
        Undefined: It has none.
    """
    known: dict[Any, Any] = dict(values)
    stack: list[Any] = [expr]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        below = _needed(node, known)
        waiting = [one for one in below if one not in known]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        known[node] = _computed(node, [known[one] for one in below], known)
    return known[expr]


def _needed(node: Any, known: dict[Any, Any]) -> list[Any]:
    """Return what is evaluated before a node: of a choice, one branch alone."""
    if isinstance(node, tir.Let):
        if node.value in known:
            known[node.var] = known[node.value]
            return [node.value, node.body]
        return [node.value]
    parts = [one for one in children(node) if not isinstance(one, Op)]
    if _is_choice(node) and parts[0] in known:
        return [parts[0], parts[1] if known[parts[0]] else parts[2]]
    if _is_choice(node):
        return parts[:1]
    if isinstance(node, tir.And | tir.Or) and parts[0] in known:
        skips = known[parts[0]] == isinstance(node, tir.Or)
        return parts[:1] if skips else parts
    return parts[:1] if isinstance(node, tir.And | tir.Or) else parts


def _is_choice(node: Any) -> bool:
    is_call = isinstance(node, tir.Call) and node.op.name == "tir.if_then_else"
    return is_call or isinstance(node, tir.Select)


def _computed(node: Any, parts: list[Any], known: dict[Any, Any]) -> Any:
    match node:
        case tir.IntImm():
            return bool(node.value) if node.dtype == "bool" else node.value
        case tir.Let() | tir.Select():
            return parts[-1]
        case tir.Call():
            return parts[-1]
        case tir.Cast():
            return _each(lambda one: one, parts[0])
        case tir.Not():
            return _each(operator.not_, parts[0])
        case tir.Ramp():
            return tuple(parts[0] + parts[1] * lane for lane in range(node.lanes))
        case tir.Broadcast():
            return (parts[0],) * node.lanes
        case tir.And() | tir.Or() if not isinstance(parts[0], tuple):
            return parts[-1]
        case _:
            return _lanewise(_COMPUTE[type(node)], *parts)


def _each(compute: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(compute, cast("tuple[Any, ...]", value)))
    return compute(value)


def _lanewise(compute: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    try:
        if isinstance(a, tuple):
            return tuple(map(compute, cast("tuple[Any, ...]", a), b))
        return compute(a, b)
    except ZeroDivisionError:
        raise Undefined from None
