"""Exhaustiveness of matches: the values that no clause matches.

The patterns of the clauses are the rows of a table, which is decomposed column by
column, as in L. Maranget, "Warnings for pattern matching" (2007): for each constructor
that a row begins with, the remaining rows have its arguments as columns. The problem is
coNP-complete, so the steps are limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from parpass.errors import ModuleError, SizeLimitError
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.module import IRModule
from parpass.relay.adt import (
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternWildcard,
)
from parpass.relay.analysis.type_analysis import Definitions

_MOST_STEPS = 100_000  # each looks at one row

# A row and a path are lists linked in pairs, so that to take the first off, or to put
# others there, takes no longer for a long one.
_Row = tuple[Pattern, "_Row"] | None


class _Head(NamedTuple):
    """The head of a pattern: its constructor, or None for a tuple; and its size."""

    constructor: Constructor | None
    size: int

    def pattern(self, inside: Sequence[Pattern]) -> Pattern:
        if self.constructor is None:
            return PatternTuple(inside)
        return PatternConstructor(self.constructor, inside)


_Path = tuple["_Head | None", "_Path"] | None


class _Rest(NamedTuple):
    """The remaining table: rows, number of columns, and the path of heads to it."""

    rows: list[_Row]
    columns: int
    path: _Path


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Return patterns of the values that no clause matches; empty if there are none.

    Args:
        match: The match.
        mod: Defines the types of the constructors in its patterns.

    Raises:
        ModuleError: The module does not define one of them.
        SizeLimitError: There are too many patterns for a check in reasonable time.
    """
    types = mod.types.by_name if mod is not None else dict[str, TypeData]()
    return list(unmatched(match, types.get))


def unmatched(match: Match, definition: Definitions) -> Iterator[Pattern]:
    """Yield `unmatched_cases`, given a function from type names to definitions."""
    steps = 0
    rows: list[_Row] = [(clause.lhs, None) for clause in match.clauses]
    waiting = [_Rest(rows, 1, None)]
    while waiting:
        rest = waiting.pop()
        steps += 1 + len(rest.rows)
        if steps > _MOST_STEPS:
            raise SizeLimitError(
                "too many patterns to check whether they match every value; write an "
                "incomplete match, or split it"
            )
        if not rest.rows:
            yield _case(rest)
        elif rest.columns:
            heads = _heads(rest.rows, definition)
            waiting += [_without_first(rest, head) for head in reversed(heads)]


def _heads(rows: list[_Row], definition: Definitions) -> Sequence[_Head | None]:
    """Return the possible heads of the first column's values; None for any."""
    for row in rows:
        assert row is not None
        pattern = row[0]
        if isinstance(pattern, PatternTuple):
            return [_Head(None, len(pattern.patterns))]
        if isinstance(pattern, PatternConstructor):
            name = pattern.constructor.belong_to.name_hint
            found = definition(name)
            if found is None:
                raise ModuleError(
                    f"expected a module with the type '{name}' of constructor "
                    f"'{pattern.constructor.name_hint}'"
                )
            return [_Head(one, len(one.inputs)) for one in found.constructors]
    return [None]


def _without_first(rest: _Rest, head: _Head | None) -> _Rest:
    """Return the remaining table for values whose first column begins with `head`."""
    size = 0 if head is None else head.size
    rows: list[_Row] = []
    for row in rest.rows:
        assert row is not None
        pattern, left = row
        if isinstance(pattern, PatternConstructor | PatternTuple):
            if head is None or not _begins_with(pattern, head):
                continue
            inside = pattern.inside
        else:
            inside = (_ANY,) * size
        for part in reversed(inside):
            left = (part, left)
        rows.append(left)
    return _Rest(rows, rest.columns - 1 + size, (head, rest.path))


def _begins_with(pattern: PatternConstructor | PatternTuple, head: _Head) -> bool:
    if len(pattern.inside) != head.size:
        return False
    if isinstance(pattern, PatternTuple) or head.constructor is None:
        return isinstance(pattern, PatternTuple) and head.constructor is None
    mine = pattern.constructor
    return (mine.belong_to, mine.name_hint) == (
        head.constructor.belong_to,
        head.constructor.name_hint,
    )


def _case(rest: _Rest) -> Pattern:
    """Return the pattern of the values at the end of a path."""
    found: list[Pattern] = [_ANY] * rest.columns
    path = rest.path
    while path is not None:
        head, path = path
        size = 0 if head is None else head.size
        inside, found = found[:size], found[size:]
        found.insert(0, _ANY if head is None else head.pattern(inside))
    [whole] = found
    return whole


_ANY = PatternWildcard()
