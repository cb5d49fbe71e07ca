"""Ways to put something smaller in the place of an expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.ir.types.type_structure import extent
from parpass.relay.adt import Match
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    If,
    Let,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from parpass.relay.op.tensor.create import zeros
from parpass.relay.shrinking.replacing import (
    Place,
    closed,
    is_leaf,
    nodes_of,
    relay_functions,
    replaced,
    roots,
    type_of,
    with_functions,
)

_MOST_HOISTED = 500
_MOST_ZEROS = 1_000  # in a tuple; larger ones make no program smaller


class Hoist:
    """Returns from a function, instead of its result, an expression inside of it."""

    many = False

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the smallest first; of very many, some."""
        found = [
            Place(name, node)
            for name in roots(mod)
            for node in nodes_of(mod[name].body)[:-1]
            if not is_leaf(node)
        ]
        return found[:: len(found) // _MOST_HOISTED + 1]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with the first of these as the result of its function."""
        place = items[0]
        function = mod[place.function]
        new = structs.replace(function, body=place.node, ret_type=None)
        return with_functions(mod, {place.function: closed(new)})


class Parametrise:
    """Replaces expressions by new parameters of their function."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first."""
        return [
            Place(name, node)
            for name in roots(mod)
            for node in reversed(nodes_of(mod[name].body))
            if not is_leaf(node) or isinstance(node, Constant)
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with parameters in the places of these."""
        return replaced(
            mod,
            {
                place: Var(f"p{at}", type_of(place.node))
                for at, place in enumerate(items)
            },
        )


class Descend:
    """Replaces expressions by one of what they are made of, of the same type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first, and what may replace each."""
        return [
            Place(name, node, child)
            for name, function in relay_functions(mod).items()
            for node in reversed(nodes_of(function.body))
            for child in _parts(node)
            if type_of(child) == type_of(node)
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with the first part of each of these in its place."""
        chosen: dict[Expr, Place] = {}
        for place in items:
            chosen.setdefault(place.node, place)
        # From the inside out: a part may be one that is replaced itself.
        ends: dict[Expr, Expr] = {}
        for node, place in reversed(chosen.items()):
            part: Expr = place.instead
            ends[node] = ends.get(part, part)
        return replaced(mod, {place: ends[node] for node, place in chosen.items()})


class MakeConstant:
    """Replaces expressions by zeros of their type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first."""
        return [
            Place(name, node)
            for name, function in relay_functions(mod).items()
            for node in reversed(nodes_of(function.body))
            if not is_leaf(node)
            and not (isinstance(node, Call) and node.op is Op.get("zeros"))
            and _zeros(type_of(node)) is not None
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with zeros in the places of these."""
        known = {place: _zeros(type_of(place.node)) for place in items}
        return replaced(mod, {p: zero for p, zero in known.items() if zero is not None})


def _parts(node: Expr) -> Sequence[Expr]:
    match node:
        case Call(args=args):
            return args
        case Let(body=body, value=value):
            return (body, value)
        case If(true_branch=true, false_branch=false):
            return (true, false)
        case Match(clauses=clauses):
            return [clause.rhs for clause in clauses]
        case RefRead(ref=RefCreate(value=value)):
            return (value,)
        case TupleGetItem(tuple_value=Tuple(fields=fields), index=index):
            return fields[index : index + 1]
        case _:
            return ()


def _zeros(kind: Type | None) -> Expr | None:
    match kind:
        case TensorType(shape=(), dtype=dtype):
            return const(0, dtype)
        case TensorType(shape=shape, dtype=dtype):
            is_static = all(isinstance(extent, int) for extent in shape)
            return zeros(cast("Sequence[int]", shape), dtype) if is_static else None
        case TupleType(fields=fields) if extent(kind).size <= _MOST_ZEROS:
            inside = [_zeros(field) for field in fields]
            known = [one for one in inside if one is not None]
            return Tuple(tuple(known)) if len(known) == len(inside) else None
        case _:
            return None
