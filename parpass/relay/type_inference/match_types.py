"""Types of matches: of the variables in patterns, and exhaustiveness.

The variables of a pattern get types from the matched value before the clause's
expression is visited, and every value needs a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, cast

from parpass.errors import ModuleError, SizeLimitError
from parpass.ir.adt import Constructor, TypeCall, TypeData
from parpass.ir.types import IncompleteType, TupleType, Type
from parpass.ir.types.type_structure import is_complete, substitute
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.analysis.exhaustiveness import unmatched
from parpass.relay.expr import Expr, Var
from parpass.relay.type_inference.global_uses import GlobalUses
from parpass.relay.type_inference.inference_state import InferenceState


class PatternTypes:
    """Goes down patterns with types; what does not fit is reported.

    Args:
        inference: Takes the errors.
        definition: Returns the definition that a constructor is of; reports that there
            is none.

    Attributes:
        of: The types of the variables; None where an error was reported.
    """

    def __init__(
        self,
        inference: InferenceState,
        definition: Callable[[Constructor, Clause], TypeData | None],
    ) -> None:
        self.of: dict[Expr, Type | None] = {}
        self._inference = inference
        self._definition = definition

    def assign(self, pattern: Pattern, typ: Type | None, clause: Clause) -> None:
        """Give the variables of a pattern types.

        Args:
            pattern: The pattern.
            typ: The type of what it matches; None if that has errors.
            clause: Where it stands.
        """
        if isinstance(pattern, PatternVar):
            self.of[pattern.var] = self._variable(pattern, typ, clause)
            return
        inside: Sequence[Type | None] | None = ()
        if isinstance(pattern, PatternConstructor):
            inside = self._arguments(pattern, typ, clause)
        elif isinstance(pattern, PatternTuple):
            inside = self._fields(pattern, typ, clause)
        if inside is None:
            inside = [None] * len(pattern.inside)
        for part, of_part in zip(pattern.inside, inside, strict=True):
            self.assign(part, of_part, clause)

    def _variable(
        self, pattern: PatternVar, typ: Type | None, clause: Clause
    ) -> Type | None:
        stated = pattern.var.type_annotation
        if stated is None or typ is None:
            return stated or typ
        inference = self._inference
        if not is_complete(stated):
            inference.solver.in_use = True
        if inference.agree(stated, typ) is None:
            want, got = inference.show(stated), inference.show(typ)
            name = pattern.var.name_hint
            message = f"expected {want} for variable '{name}', got {got}"
            inference.error(pattern, message, clause)
        return stated

    def _arguments(
        self, pattern: PatternConstructor, typ: Type | None, clause: Clause
    ) -> Sequence[Type | None] | None:
        constructor = pattern.constructor
        definition = self._definition(constructor, clause)
        if definition is None:
            return None
        own = {one.name_hint: one for one in definition.constructors}
        inputs = own[constructor.name_hint].inputs
        if len(inputs) != len(pattern.patterns):
            return self._error(
                pattern,
                f"expected {len(inputs)} patterns for constructor "
                f"'{constructor.name_hint}', got {len(pattern.patterns)}",
                clause,
            )
        if typ is None:
            return None
        name = constructor.belong_to.name_hint
        message = f"expected a type annotation on what is matched: which '{name}' is it"
        wanted = TypeCall(
            constructor.belong_to,
            [self._unknown(typ, clause, message) for _ in definition.type_vars],
        )
        found = self._as(wanted, typ)
        if not isinstance(found, TypeCall):
            what = f"constructor '{constructor.name_hint}' of type '{name}'"
            return self._misfit(pattern, typ, what, clause)
        types = dict(zip(definition.type_vars, found.args, strict=True))
        taken = self._inference.solver.type_vars
        return [substitute(one, types, taken) for one in inputs]

    def _fields(
        self, pattern: PatternTuple, typ: Type | None, clause: Clause
    ) -> Sequence[Type | None] | None:
        if typ is None:
            return None
        size = len(pattern.patterns)
        message = "expected a type annotation on what is matched"
        wanted = TupleType([self._unknown(typ, clause, message) for _ in range(size)])
        found = self._as(wanted, typ)
        if not isinstance(found, TupleType):
            return self._misfit(pattern, typ, f"a tuple of {size} fields", clause)
        return found.fields

    def _unknown(self, typ: Type, clause: Clause, message: str) -> Type:
        """Return a type for a part; where the whole is known, it is not looked at."""
        if isinstance(self._inference.solver.outline(typ), IncompleteType):
            return self._inference.unknown(cast("Any", clause), message)
        return _NOT_KNOWN

    def _as(self, wanted: TypeCall | TupleType, typ: Type) -> Type | None:
        """Return a type that is like `wanted`; None if it is not."""
        known = self._inference.solver.outline(typ)
        if isinstance(known, IncompleteType):
            return wanted if self._inference.agree(known, wanted) else None
        same_kind = type(known) is type(wanted) and len(known.parts) == len(
            wanted.parts
        )
        if isinstance(known, TypeCall) and isinstance(wanted, TypeCall):
            same_kind = same_kind and known.func == wanted.func
        return known if same_kind else None

    def _misfit(
        self, pattern: Pattern, typ: Type, what: str, clause: Clause
    ) -> Sequence[Type | None] | None:
        got = self._inference.show(typ)
        return self._error(pattern, f"expected a pattern of {got}, got {what}", clause)

    def _error(self, pattern: Pattern, message: str, clause: Clause) -> None:
        self._inference.error(pattern, message, clause)


_NOT_KNOWN = IncompleteType()


_CASES_SHOWN = 5


class MatchTypes:
    """Knows which match a clause is of, and what its patterns give types.

    Args:
        inference: Takes the errors.
        uses: Has the definitions of types.
        type_of: Returns the type of an expression that was visited; whom to blame if
            it is no value, by default itself.
    """

    def __init__(
        self,
        inference: InferenceState,
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
