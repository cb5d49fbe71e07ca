from __future__ import annotations

import pytest

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir import wire
from parpass.ir.node import bindings, children
from parpass.ir.serialization import load_json, save_json
from parpass.ir.structural import assert_structural_equal, structural_equal
from parpass.ir.types.type_structure import MAX_NESTING
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.analysis import bound_vars, free_vars, well_formed
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import Expr, Function, RefCreate, RefRead, RefWrite, Var, const
from parpass.relay.functor import ExprMutator, ExprVisitor
from tests.support.relay.adts import CONS, NIL, head_or

X, Y, H, T = (Var(name) for name in "xyht")


def pair() -> PatternConstructor:
    return PatternConstructor(CONS, [PatternVar(H), PatternVar(T)])


def test_a_pattern_knows_its_variables_from_left_to_right():
    pattern = PatternTuple([pair(), PatternWildcard(), PatternVar(X)])
    assert pattern.variables == (H, T, X)
    other = pattern.with_variables([T, H, Y])
    assert other.variables == (T, H, Y)
    assert other.shape == pattern.shape
    assert pattern.with_variables([H, T, X]) is pattern


def test_a_clause_binds_the_variables_of_its_pattern():
    clause = Clause(pair(), H)
    assert bindings(clause) == (H, T)
    assert children(clause) == (H, T, H)
    match = Match(X, [clause, Clause(PatternWildcard(), Y)])
    assert free_vars(match) == [X, Y]
    assert bound_vars(match) == [H, T]
    assert well_formed(match)
    assert not well_formed(Match(H, [clause]))
    assert not well_formed(Match(X, [clause, Clause(PatternWildcard(), T)]))


def test_matches_are_equal_but_for_names():
    one = Function((X,), head_or(X, const(1)))
    assert_structural_equal(one, Function((Y,), head_or(Y, const(1))))
    swapped = PatternConstructor(CONS, [PatternWildcard(), PatternVar(H)])
    other = Clause(swapped, H), Clause(PatternWildcard(), const(1))
    assert not structural_equal(one, Function((X,), Match(X, other)))
    incomplete = Match(X, head_or(X, const(1)).clauses, complete=False)
    assert not structural_equal(one, Function((X,), incomplete))


def test_patterns_are_compared_by_what_they_match():
    other = PatternConstructor(CONS, [PatternVar(X), PatternVar(Y)])
    assert structural_equal(pair(), other)
    assert not structural_equal(pair(), PatternConstructor(NIL))
    assert not structural_equal(PatternWildcard(), PatternVar(X))


@pytest.mark.parametrize(
    "expr",
    [
        head_or(X, const(1)),
        RefWrite(RefCreate(X), RefRead(Y)),
    ],
)
def test_new_nodes_travel(expr: Expr):
    function = Function((X, Y), expr)
    assert_structural_equal(wire.decode(wire.encode(function)), function)
    assert_structural_equal(load_json(save_json(function)), function)


def test_a_copy_has_variables_of_its_own_and_references_of_its_own():
    match = head_or(X, const(1))
    copy = with_new_variables(match)
    assert copy.clauses[0].lhs.variables[0] is not match.clauses[0].lhs.variables[0]
    assert_structural_equal(copy, match)
    for node in (RefCreate(X), RefRead(X), RefWrite(X, Y)):
        assert with_new_variables(node) is not node


def test_a_visitor_may_look_at_clauses_and_at_matches():
    class Seen(ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.kinds: list[str] = []

        def visit_match(self, match: Match) -> None:
            self.visit(match.data)
            for clause in match.clauses:
                self.visit(clause.rhs)
            self.kinds.append("match")

        def visit_clause(self, clause: Clause) -> None:
            self.kinds.append("clause")

    seen = Seen()
    seen.visit(head_or(X, head_or(X, Y)))
    assert seen.kinds.count("match") == 2


def test_a_mutator_keeps_what_does_not_change():
    match = head_or(X, Y)
    assert ExprMutator().visit(match) is match

    class Replace(ExprMutator):
        def visit_var(self, var: Var) -> Expr:
            return const(2) if var is Y else var

    new = Replace().visit(match)
    assert isinstance(new, Match)
    assert new.clauses[0] is match.clauses[0]
    assert new.clauses[1] is not match.clauses[1]


def test_patterns_in_each_other_are_bounded():
    pattern: Pattern = PatternWildcard()
    for _ in range(MAX_NESTING):
        pattern = PatternTuple([pattern])
    with pytest.raises(SizeLimitError, match="in a separate match"):
        PatternTuple([pattern])


def test_a_pattern_is_made_of_patterns():
    with pytest.raises(IRTypeError, match="expected patterns in a pattern"):
        PatternTuple([X])  # pyright: ignore[reportArgumentType]
