"""Ways to take parts out of a program: fields, clauses, types, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.relay.adt import Match
from parpass.relay.analysis.used_types import types_in, types_used
from parpass.relay.expr import Expr, Function, Tuple, TupleGetItem
from parpass.relay.functor import ExprMutator
from parpass.relay.shrinking.replacing import (
    Place,
    nodes_of,
    relay_functions,
    with_functions,
)


class DropFields:
    """Takes fields out of tuples of which only single fields are used."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the tuples, each with the index of a field that is not used."""
        found: list[Place] = []
        for name, function in relay_functions(mod).items():
            order = nodes_of(function)
            used: dict[Expr, set[int] | None] = {}
            for node in order:
                for child in children(node):
                    if isinstance(node, TupleGetItem):
                        indices = used.setdefault(child, set())
                        if indices is not None:
                            indices.add(node.index)
                    else:
                        used[child] = None
            for node in order:
                indices = used.get(node)
                if isinstance(node, Tuple) and indices is not None:
                    rest = set(range(len(node.fields))) - indices
                    found += [Place(name, node, index) for index in sorted(rest)]
        return found

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with these tuples without these fields."""
        return _without(mod, items, _WithoutFields)


class DropClauses:
    """Takes clauses out of matches, which need not match every value then."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the matches that have several clauses, each with one of these."""
        return [
            Place(name, node, at)
            for name, function in mod.functions_by_name.items()
            for node in reversed(nodes_of(function.body))
            if isinstance(node, Match) and len(node.clauses) > 1
            for at in range(len(node.clauses))
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with these matches without these clauses."""
        return _without(mod, items, _WithoutClauses)


class DropTypes:
    """Takes definitions of types out that nothing refers to."""

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
        """Return the module without these types."""
        known = mod.type_definitions
        kept = {it: one for it, one in known.items() if it.name_hint not in items}
        return IRModule(mod.functions, kept, mod.attrs, mod.sources)


class DropAttributes:
    """Takes the attributes of functions out, of those of any IR."""

    many = True

    def items(self, mod: IRModule) -> Sequence[tuple[str, str]]:
        """Return the names of functions and of attributes."""
        return [
            (name, key)
            for name, function in mod.functions_by_name.items()
            for key in function.attributes
        ]

    def without(self, mod: IRModule, items: Sequence[tuple[str, str]]) -> IRModule:
        """Return the module without these attributes."""
        changed: dict[str, Any] = {}
        for name, key in items:
            changed[name] = (changed.get(name) or mod[name]).without_attr(key)
        return with_functions(mod, changed)


class _Without(ExprMutator):
    def __init__(self, gone: Mapping[Expr, set[int]]) -> None:
        super().__init__()
        self._gone = gone


class _WithoutFields(_Without):
    def visit_tuple(self, tup: Tuple) -> Expr:
        new = cast("Tuple", super().visit_tuple(tup))
        gone = self._gone.get(tup, ())
        fields = [field for at, field in enumerate(new.fields) if at not in gone]
        return Tuple(tuple(fields), span=tup.span) if gone else new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        gone = self._gone.get(op.tuple_value, ())
        before = sum(index < op.index for index in gone)
        return TupleGetItem(new.tuple_value, op.index - before) if before else new


class _WithoutClauses(_Without):
    def visit_match(self, match: Match) -> Expr:
        new: Match = super().visit_match(match)
        gone = self._gone.get(match, ())
        kept = [one for at, one in enumerate(new.clauses) if at not in gone]
        if not gone or not kept:
            return new
        return Match(new.data, kept, complete=False, span=match.span)


def _without(mod: IRModule, items: Sequence[Place], how: type[_Without]) -> IRModule:
    gone: dict[str, dict[Expr, set[int]]] = {}
    for name, node, at in items:
        gone.setdefault(name, {}).setdefault(node, set()).add(at)
    changed = {
        name: cast("Function", how(parts).visit(mod[name]))
        for name, parts in gone.items()
    }
    return with_functions(mod, changed)
