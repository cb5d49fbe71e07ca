from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import ModuleError, SizeLimitError
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.analysis import unmatched_cases
from parpass.relay.expr import Var, const
from tests.support.profiles import examples
from tests.support.relay.adts import CONS, NIL, with_lists

ANY = PatternWildcard()


def cons(head: Pattern, tail: Pattern) -> Pattern:
    return PatternConstructor(CONS, [head, tail])


def nil() -> Pattern:
    return PatternConstructor(NIL)


def cases(*patterns: Pattern) -> list[str]:
    match = Match(Var("x"), [Clause(pattern, const(1)) for pattern in patterns])
    return [str(one) for one in unmatched_cases(match, with_lists())]


@pytest.mark.parametrize(
    ("patterns", "missing"),
    [
        ([], ["_"]),
        ([ANY], []),
        ([PatternVar(Var("y"))], []),
        ([nil()], ["Cons(_, _)"]),
        ([cons(ANY, ANY), nil()], []),
        ([cons(ANY, cons(ANY, ANY))], ["Cons(_, Nil)", "Nil"]),
        ([cons(ANY, nil()), nil(), cons(ANY, cons(ANY, cons(ANY, ANY)))],
         ["Cons(_, Cons(_, Nil))"]),
        ([PatternTuple([nil(), nil()])], ["(Cons(_, _), _)", "(Nil, Cons(_, _))"]),
        ([PatternTuple([nil(), ANY]), PatternTuple([ANY, nil()])],
         ["(Cons(_, _), Cons(_, _))"]),
        ([PatternTuple([])], []),
    ],
)  # fmt: skip
def test_what_no_clause_matches_is_found(patterns: list[Pattern], missing: list[str]):
    assert cases(*patterns) == missing


def test_a_type_that_is_not_known_is_an_error():
    match = Match(Var("x"), [Clause(nil(), const(1))])
    with pytest.raises(ModuleError, match="expected a module with the type 'List'"):
        unmatched_cases(match)


def test_a_pattern_may_be_wide():
    wide = PatternTuple([nil()] * 1_200)
    with pytest.raises(SizeLimitError):  # there are so many that it matches not
        cases(*[wide] * 1_000)
    assert cases(PatternTuple([ANY] * 1_200)) == []


def test_what_takes_too_long_is_given_up():
    patterns = [
        PatternTuple([nil() if at == one else ANY for at in range(24)])
        for one in range(24)
    ]
    with pytest.raises(SizeLimitError, match="too many patterns"):
        cases(*patterns, *patterns[::-1])


patterns = st.recursive(
    st.one_of(st.builds(PatternWildcard), st.builds(nil)),
    lambda inner: st.builds(cons, st.just(ANY), inner),
    max_leaves=4,
)


def matches(pattern: Pattern, length: int) -> bool:
    """Return whether a pattern of a list matches one of some length."""
    if isinstance(pattern, PatternConstructor):
        if pattern.constructor is NIL:
            return length == 0
        return length > 0 and matches(pattern.patterns[1], length - 1)
    return True


@given(st.lists(patterns, max_size=4))
@examples(1.25)
def test_each_value_is_matched_by_a_clause_or_by_one_case(given: list[Pattern]):
    match = Match(Var("x"), [Clause(pattern, const(1)) for pattern in given])
    missing = unmatched_cases(match, with_lists())
    for length in itertools.islice(itertools.count(), 8):
        is_matched = any(matches(pattern, length) for pattern in given)
        assert sum(matches(case, length) for case in missing) == (not is_matched)
