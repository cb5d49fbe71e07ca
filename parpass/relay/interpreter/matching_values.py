"""Whether a value is what a pattern matches, and what its variables stand for then."""

from __future__ import annotations

from typing import cast

from parpass.relay.adt import (
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.expr import Expr
from parpass.relay.interpreter.values import ConstructorValue, Value


def matched(pattern: Pattern, value: Value) -> dict[Expr, Value] | None:
    """Return the values of a pattern's variables; None if it does not match."""
    bound: dict[Expr, Value] = {}
    waiting: list[tuple[Pattern, Value]] = [(pattern, value)]
    while waiting:
        pattern, value = waiting.pop()
        if isinstance(pattern, PatternVar):
            bound[pattern.var] = value
            continue
        fields: tuple[Value, ...] = ()
        if isinstance(pattern, PatternConstructor):
            if not _is_made_by(value, pattern):
                return None
            fields = value.fields
        elif isinstance(pattern, PatternTuple):
            if not isinstance(value, tuple):
                return None
            fields = cast("tuple[Value, ...]", value)
        if len(fields) != len(pattern.inside):
            return None
        waiting += zip(pattern.inside, fields, strict=True)
    return bound


def _is_made_by(value: Value, pattern: PatternConstructor) -> bool:
    if not isinstance(value, ConstructorValue):
        return False
    mine, other = value.constructor, pattern.constructor
    return mine is other or (
        mine.name_hint == other.name_hint and mine.belong_to == other.belong_to
    )
