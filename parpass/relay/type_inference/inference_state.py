"""The state of one inference besides the types of nodes: errors and unknown types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import force_setattr

from parpass.ir.types import FuncType, IncompleteType, Type
from parpass.ir.types.type_structure import is_complete
from parpass.relay.analysis.findings import Finding
from parpass.relay.expr import Expr, Function, GlobalVar, Var
from parpass.relay.type_inference.solver import TypeSolver

Types = Sequence[Type | None]
"""The types of a node's children; None where one has an error."""


class _Origin(NamedTuple):
    """The error to report, and its span, if a type stays unknown."""

    typ: Type
    blamed: Expr
    message: str


class InferenceState:
    """Collects errors, and the work that is left until all types are known.

    An error is not reported twice: the types that it leaves unknown are excused.

    Args:
        solver: Knows the unknown types; functions that call each other share one.

    Attributes:
        findings: The errors, in the order in which they were found.
    """

    def __init__(self, solver: TypeSolver) -> None:
        self.solver = solver
        self.findings: list[Finding] = []
        self._origins: list[_Origin] = []
        self._excused: list[IncompleteType] = []
        self._suspended: list[tuple[Sequence[Type], Type]] = []
        self._unfinished: list[Any] = []

    def error(self, blamed: Any, message: str, around: Any = None) -> None:
        """Put an error on the span of `blamed`, or of the expression around it.

        The span of a name is where it was introduced, so an expression that uses it
        wrongly is shown itself.
        """
        if around is not None and isinstance(blamed, Var | GlobalVar):
            blamed, around = around, blamed
        span = getattr(blamed, "span", None) or getattr(around, "span", None)
        self.findings.append(Finding(span, message))

    def unknown(self, blamed: Expr, message: str) -> IncompleteType:
        """Return a new unknown type, and say what is wrong if it stays unknown."""
        found = self.solver.unknown()
        self.expect(found, blamed, message)
        return found

    def expect(self, typ: Type, blamed: Expr, message: str) -> None:
        """Say what is wrong if a part of a type stays unknown."""
        self._origins.append(_Origin(typ, blamed, message))

    def agree(self, one: Type, other: Type) -> Type | None:
        """Return what two types have in common; if nothing, an error is to follow."""
        if one is other or one == other:
            return one
        found = self.solver.unify(one, other)
        if found is None:
            self.excuse((one, other))
        return found

    def show(self, typ: Type) -> Type:
        """Return a type as messages show it, with all that is known of it."""
        return self.solver.resolve(typ)

    def excuse(self, types: Iterable[Type | None]) -> None:
        """Let types stay unknown without a further error."""
        if self.solver.in_use:
            known = [typ for typ in types if typ is not None]
            self._excused += self.solver.unknowns_in(known)

    def suspend(
        self, types: Sequence[Type], result: Type, attempt: Callable[[], bool]
    ) -> None:
        """Put off what needs types to be known until they are.

        It is attempted at once, and whenever more has been learnt of the types.

        Args:
            types: The types, some of them unknown.
            result: The unknown type that depends on them.
            attempt: Does what can be done now; False to make it the last time.
        """
        solver, goes_on = self.solver, True
        watched: set[IncompleteType] = set()

        def check() -> None:
            nonlocal goes_on
            fresh = [it for it in solver.unknowns_in(types) if it not in watched]
            if fresh:
                watched.update(fresh)
                solver.watch(fresh, check)
            goes_on = goes_on and attempt()

        self._suspended.append((types, result))
        check()

    def finish_later(self, node: Any) -> None:
        """Take a node whose type may have unknown parts, to complete it at the end."""
        self._unfinished.append(node)

    def report_unknown(self) -> None:
        """Report the types that have stayed unknown, each where it comes from."""
        if not self.solver.in_use:
            return
        open_ = [it for it in self._origins if self.solver.is_open(it.typ)]
        if not open_:
            return
        for types, result in self._suspended:
            causes = self.solver.unknowns_in(types)
            if any(map(self.solver.is_open, types)):
                of_result = self.solver.unknowns_in([result])
                self._excused += [it for it in of_result if it not in causes]
        excused = set(map(self.solver.root, self._excused))
        reported = self._report(open_, excused)
        if not reported and not self.findings:
            self._report(open_[:1], set())

    def _report(self, open_: Sequence[_Origin], excused: set[IncompleteType]) -> bool:
        known = len(self.findings)
        for typ, blamed, message in open_:
            roots = self.solver.unknowns_in([typ])
            causes = [root for root in roots if self.solver.is_open(root)]
            if excused.isdisjoint(causes):
                self.error(blamed, message)
            excused.update(causes)
        return len(self.findings) > known

    def complete(self) -> bool:
        """Put the types that were found into the nodes.

        Returns:
            Whether all types are known.
        """
        solver = self.solver
        if not solver.in_use:
            return True
        resolve = solver.resolver()
        for node in self._unfinished:
            found = node.checked_type_
            if found is not None:
                found = resolve(found)
                if not is_complete(found):
                    return False
                force_setattr(node, "checked_type_", found)
            _complete_annotations(node, found, resolve)
        return True


def _complete_annotations(
    node: Any, found: Type | None, resolve: Callable[[Type], Type]
) -> None:
    """Replace unknown types where a node states types."""
    if isinstance(node, Var):
        if node.type_annotation is not None:
            force_setattr(node, "type_annotation", found)
    elif isinstance(node, Function):
        if isinstance(found, FuncType):
            force_setattr(node, "ret_type", found.ret_type)
    elif getattr(node, "type_args", ()):
        args = tuple(map(resolve, node.type_args))
        force_setattr(node, "type_args", args)
