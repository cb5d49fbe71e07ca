"""What matches ask for besides the types of their children.

The variables of a pattern get types from what is matched, before the clause's
expression is looked at, and every value needs a clause.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from parpass.errors import ModuleError, SizeLimitError
from parpass.ir.types.ty import Type
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis.exhaustiveness import unmatched
from parpass.relay.expr import Expr, Var
from parpass.relay.typing.global_uses import GlobalUses
from parpass.relay.typing.inference import Inference
from parpass.relay.typing.patterns import PatternTypes

_CASES_SHOWN = 5


class Matches:
    """Knows which match a clause is of, and what its patterns give types.

    Args:
        inference: Takes the errors.
        uses: Has the definitions of types.
        type_of: Returns the type of an expression that was visited; whom to blame if
            it is no value, by default itself.
    """

    def __init__(
        self,
        inference: Inference,
        uses: GlobalUses,
        type_of: Callable[[Expr, Expr | None], Type | None],
    ) -> None:
        self._inference = inference
        self._definition = uses.definition
        self._type_of = type_of
        self._patterns = PatternTypes(inference, uses.definition_of)
        self._match_of: dict[Clause, Match] = {}

    def enter(self, match: Match) -> None:
        """Note which match its clauses are of."""
        self._match_of |= dict.fromkeys(match.clauses, match)

    def enter_clause(self, clause: Clause) -> None:
        """Give the variables of its pattern types, which its expression may use."""
        match = self._match_of.get(clause)
        typ = None if match is None else self._type_of(match.data, None)
        self._patterns.assign(clause.lhs, typ, clause)

    def binds(self, var: Var) -> bool:
        """Return whether a pattern that was entered binds a variable."""
        return var in self._patterns.of

    def type_of_bound(self, var: Var) -> Type | None:
        """Return the type of a variable that a pattern binds; None after an error."""
        return self._patterns.of[var]

    def check(self, match: Match) -> None:
        """Report clauses that match something else elsewhere, and cases without one."""
        known = len(self._inference.findings)
        for clause in match.clauses:
            first = self._match_of[clause]
            if first is not match:  # they share it, so its pattern has a type
                data = self._type_of(match.data, match)
                other = self._type_of(first.data, match)
                if data and other and self._inference.agree(data, other) is None:
                    message = "expected values of one type for a shared clause"
                    self._inference.error(match, message)
        if match.complete and match.clauses and known == len(self._inference.findings):
            self._check_cases(match)

    def _check_cases(self, match: Match) -> None:
        """Report values that no clause matches."""
        try:
            cases = unmatched(match, self._definition)
            shown = [str(case) for case in islice(cases, _CASES_SHOWN)]
        except (SizeLimitError, ModuleError) as error:
            self._inference.error(match, str(error))
            return
        if shown:
            listed = ", ".join(shown)
            message = f"expected a clause for every value, got none for {listed}"
            self._inference.error(match, f"{message}; write `match?` if that may be")
