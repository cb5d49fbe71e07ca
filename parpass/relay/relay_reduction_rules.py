"""The rules by which programs of Relay are reduced, besides the fields of nodes.

Where types are known, they are kept: what stands in the place of an expression has its
type. Patterns of Relay's own take out fields of tuples and definitions of types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.ir.adt import Constructor
from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule
from parpass.ir.node import Node, children, post_order, with_replaced
from parpass.ir.op.op_table import Op
from parpass.ir.reduction_rules import ReductionRules
from parpass.ir.replacement import Replacement, replaced
from parpass.ir.types import TensorType, TupleType, Type
from parpass.ir.types.type_structure import extent
from parpass.relay.adt import Match
from parpass.relay.analysis.scopes import free_vars
from parpass.relay.analysis.type_analysis import types_in, types_used
from parpass.relay.expr import Call, Expr, Function, Tuple, TupleGetItem, Var, const
from parpass.relay.op.tensor.create import zeros
from parpass.transform import ReductionPattern

_MOST_ZEROS = 1_000  # in a tuple; larger ones make no program smaller
_NAMES = (Op, GlobalVar, Constructor)


class RelayReductionRules(ReductionRules):
    """The rules of Relay: of expressions by their type."""

    def sort(self, node: Any) -> object:
        """Return the type of an expression, in a tuple, since it may be unknown."""
        is_value = isinstance(node, Expr) and not isinstance(node, _NAMES)
        return (_type_of(node),) if is_value else None

    def smallest(self, node: Any) -> Expr | None:
        """Return zeros of the type of an expression that has operands."""
        return _zeros(_type_of(node)) if children(node) else None

    def is_smallest(self, node: Any) -> bool:
        """Return whether an expression is a call of `zeros`."""
        return isinstance(node, Call) and node.op is Op.get("zeros")

    def parameter(self, name: str, node: Any) -> Var:
        """Return a parameter of the type of an expression."""
        return Var(name, _type_of(node))

    def closed(self, function: Function) -> Function:
        """Return a function whose parameters are those that its body uses."""
        free = free_vars(function.body)
        used, known = set(free), set(function.params)
        kept = [param for param in function.params if param in used]
        old = [var for var in free if var not in known]
        if not old and len(kept) == len(known):
            return function
        # New ones: what was bound inside may still be bound there, too.
        new = [
            Var(var.name_hint, var.type_annotation or _type_of(var), var.span)
            for var in old
        ]
        body = with_replaced(function.body, dict(zip(old, new, strict=True)))
        params = (*kept, *new)
        return structs.replace(function, params=params, body=body, checked_type_=None)

    def with_fields(self, node: Any, fields: Mapping[str, Any]) -> Any:
        """Return an expression with fewer parts; a match is incomplete then."""
        incomplete = {"complete": False} if isinstance(node, Match) else {}
        return structs.replace(node, **fields, **incomplete, checked_type_=None)

    def patterns(self) -> Sequence[ReductionPattern]:
        """Return the patterns on fields of tuples and on definitions of types."""
        return [DropFields(), DropTypes()]


class Field(NamedTuple):
    """A field of a tuple in a function."""

    function: str
    node: Tuple
    at: int


class DropFields:
    """Removes fields of tuples of which only single fields are used."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Field]:
        """Return the tuples, each with the index of a field that is not used."""
        found: list[Field] = []
        for name, function in mod.functions_by_name.items():
            for node, users in _projected(function).items():
                used = {user.index for user in users}
                rest = (at for at in range(len(node.fields)) if at not in used)
                found += [Field(name, node, index) for index in rest]
        return found

    def without(self, mod: IRModule, items: Sequence[Field]) -> IRModule:
        """Return the module with these fields removed from their tuples."""
        gone: dict[str, dict[Tuple, set[int]]] = {}
        for name, node, index in items:
            gone.setdefault(name, {}).setdefault(node, set()).add(index)
        places: list[Replacement] = []
        for name, tuples in gone.items():
            projected = _projected(mod[name])
            for node, indices in tuples.items():
                fields = enumerate(node.fields)
                left = Tuple(tuple(one for at, one in fields if at not in indices))
                places.append(Replacement(name, node, left))
                for user in projected[node]:
                    before = sum(index < user.index for index in indices)
                    instead = TupleGetItem(left, user.index - before)
                    places.append(Replacement(name, user, instead))
        return replaced(mod, places)


class DropTypes:
    """Removes unused definitions of types."""

    many = True

    def items(self, mod: IRModule) -> Sequence[str]:
        """Return the names of the types."""
        functions = mod.functions_by_name.values()
        used = set[str]().union(*(types_used(post_order(one)) for one in functions))
        waiting = [*used]
        while waiting:
            definition = mod.types.by_name.get(waiting.pop())
            if definition is not None:
                fresh = types_in(definition) - used
                used |= fresh
                waiting += fresh
        return [name for name in mod.types.by_name if name not in used]

    def without(self, mod: IRModule, items: Sequence[str]) -> IRModule:
        """Return the module without these types, nor unused ones that name them."""
        inside = {name: types_in(one) for name, one in mod.types.by_name.items()}
        gone = {*items}
        while fresh := {one for one in inside.keys() - gone if inside[one] & gone}:
            gone |= fresh
        known = mod.type_definitions
        kept = {it: one for it, one in known.items() if it.name_hint not in gone}
        return IRModule(mod.functions, kept, mod.attrs, mod.sources)


def _projected(function: Node) -> dict[Tuple, list[TupleGetItem]]:
    """Return the tuples of which only single fields are used, and what uses them."""
    users: dict[Tuple, list[TupleGetItem]] = {}
    whole: set[Any] = set()
    for node in post_order(function):
        if isinstance(node, TupleGetItem) and isinstance(node.tuple_value, Tuple):
            users.setdefault(node.tuple_value, []).append(node)
        else:
            whole.update(children(node))
    return {node: uses for node, uses in users.items() if node not in whole}


def _type_of(node: Any) -> Type | None:
    return getattr(node, "checked_type_", None)


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
