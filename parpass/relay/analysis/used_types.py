"""Which defined types programs refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parpass.ir.adt import Constructor, GlobalTypeVar
from parpass.ir.closedness import stated_types
from parpass.ir.node import Node
from parpass.ir.types.ty import Type
from parpass.ir.types.type_structure import extent
from parpass.relay.adt import Clause, Pattern, PatternConstructor


def constructors_in(order: Iterable[Node]) -> Iterator[Constructor]:
    """Yield the constructors that expressions call or match, as often as they do."""
    for node in order:
        if isinstance(node, Constructor):
            yield node
        elif isinstance(node, Clause):
            yield from _in_pattern(node.lhs)


def _in_pattern(pattern: Pattern) -> Iterator[Constructor]:
    if isinstance(pattern, PatternConstructor):
        yield pattern.constructor
    for part in pattern.inside:
        yield from _in_pattern(part)


def types_used(order: Iterable[Node]) -> set[str]:
    """Return the names of the defined types in what nodes state, call and match."""
    nodes = list(order)
    found = {it.belong_to.name_hint for it in constructors_in(nodes)}
    return found.union(*map(types_in, stated_types(nodes)))


def types_in(typ: Type) -> set[str]:
    """Return the names of the defined types in a type, or in a definition."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [typ]
    while waiting:
        part = waiting.pop()
        if isinstance(part, GlobalTypeVar):
            found.add(part.name_hint)
        elif id(part) not in seen and GlobalTypeVar in extent(part).kinds:
            seen.add(id(part))  # which lives as long as the whole
            waiting += part.parts
    return found
