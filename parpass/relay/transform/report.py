"""How the shipped passes report errors in the user's program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.diagnostic import Diagnostic, DiagnosticLevel, Span, headline
from parpass.errors import DiagnosticError
from parpass.relay.expr import Function
from parpass.relay.module import IRModule
from parpass.transform import PassContext


class Finding(NamedTuple):
    """An error in a program, before it is known in which function it is."""

    span: Span | None
    message: str


def emit_errors(
    findings: Sequence[Finding], func: Function, mod: IRModule, ctx: PassContext
) -> None:
    """Emit findings in `func` as error diagnostics that name the function."""
    if not findings:
        return
    diag_ctx = ctx.diag_ctx
    if diag_ctx is None:  # the caller runs the body itself, outside of any pass
        raise_errors(findings)
        return
    name = _name_of(func, mod)
    for found in findings:
        message = f"function '{name}': {found.message}" if name else found.message
        diag_ctx.emit(Diagnostic(DiagnosticLevel.ERROR, found.span, message))


def raise_errors(findings: Sequence[Finding]) -> None:
    """Raise what was found in an expression that stands alone.

    Raises:
        DiagnosticError: There are findings.
    """
    errors = [Diagnostic(DiagnosticLevel.ERROR, *found) for found in findings]
    if errors:
        raise DiagnosticError("\n".join(map(headline, errors)), errors)


def _name_of(func: Function, mod: IRModule) -> str | None:
    # A search, because a function does not know its name and only errors need it.
    named = mod.functions_by_name.items()
    return next((name for name, other in named if other is func), None)
