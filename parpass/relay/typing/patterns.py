"""The types of a pattern's variables, from the type of what is matched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from parpass.ir.adt import Constructor, TypeCall, TypeData
from parpass.ir.types.ty import IncompleteType, TupleType, Type
from parpass.ir.types.type_structure import is_complete, substitute
from parpass.relay.adt import (
    Clause,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.expr import Expr
from parpass.relay.typing.inference import Inference


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
        inference: Inference,
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
