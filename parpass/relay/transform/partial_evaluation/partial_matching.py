"""Whether what is known of a value tells that a pattern matches it."""

from __future__ import annotations

import enum

from parpass.relay.adt import (
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.expr import Var
from parpass.relay.transform.partial_evaluation.partial_values import (
    Fields,
    Made,
    Partial,
)


class Match3(enum.Enum):
    """Whether a value matches; there is a third answer."""

    NO = enum.auto()
    UNKNOWN = enum.auto()
    YES = enum.auto()


def matched(pattern: Pattern, value: Partial, bound: dict[Var, Partial]) -> Match3:
    """Return whether a value matches, and enter the values of the variables.

    What does not match in one part does not match, whatever the others are.
    """
    found, waiting = Match3.YES, [(pattern, value)]
    while waiting:
        pattern, value = waiting.pop()
        if isinstance(pattern, PatternVar):
            bound[pattern.var] = value
        elif isinstance(pattern, PatternConstructor | PatternTuple):
            known = value.known
            if not isinstance(known, Made | Fields):
                found = Match3.UNKNOWN
                continue
            if isinstance(pattern, PatternConstructor) and not _is_made_by(
                known, pattern
            ):
                return Match3.NO
            waiting += zip(pattern.inside, known.values, strict=True)
    return found


def _is_made_by(known: Made | Fields, pattern: PatternConstructor) -> bool:
    if not isinstance(known, Made):
        return False
    mine, other = known.constructor, pattern.constructor
    return mine is other or (
        mine.name_hint == other.name_hint and mine.belong_to == other.belong_to
    )
