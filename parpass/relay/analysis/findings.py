"""Errors and notes of the shipped passes on the user's program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.diagnostic import Diagnostic, DiagnosticLevel, Span, headline
from parpass.errors import DiagnosticError
from parpass.transform import PassContext


class Finding(NamedTuple):
    """A message on a program, before the function that it belongs to is known."""

    span: Span | None
    message: str


def emit_errors(
    findings: Sequence[Finding], ctx: PassContext, name: str | None = None
) -> None:
    """Emit findings as error diagnostics that name the function.

    Args:
        findings: The errors.
        ctx: The context of the pass.
        name: The function; by default the one that the pass works on.
    """
    if not findings:
        return
    name = name or ctx.function_name
    if ctx.diag_ctx is None:  # the caller runs the body itself, outside of any pass
        raise_errors(findings)
    _emit(DiagnosticLevel.ERROR, findings, ctx, name)


def emit_notes(findings: Sequence[Finding], ctx: PassContext) -> None:
    """Emit findings as notes that name the function; no effect outside of passes."""
    _emit(DiagnosticLevel.NOTE, findings, ctx, ctx.function_name)


def _emit(
    level: DiagnosticLevel,
    findings: Sequence[Finding],
    ctx: PassContext,
    name: str | None,
) -> None:
    diag_ctx = ctx.diag_ctx
    if diag_ctx is None:
        return
    for found in findings:
        message = f"function '{name}': {found.message}" if name else found.message
        diag_ctx.emit(Diagnostic(level, found.span, message))


def raise_errors(findings: Sequence[Finding]) -> None:
    """Raise the findings of an expression that is not part of a module.

    Raises:
        DiagnosticError: There are findings.
    """
    errors = [Diagnostic(DiagnosticLevel.ERROR, *found) for found in findings]
    if errors:
        raise DiagnosticError("\n".join(map(headline, errors)), errors)
