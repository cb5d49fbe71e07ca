"""The violations of a run: errors of advisory methods of its adapter.

No result depends on these methods. The run goes on, and warns of each at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token

from parpass.errors import AdapterError
from parpass.errors.warning import AdapterWarning, warn

_SAME_RESULT = "the result is still that of a serial run, but the run may be slower"

# The first error of each advisory method that failed, by method.
Violations = dict[str, AdapterError]
_violations: ContextVar[Violations | None] = ContextVar(
    "parpass_violations", default=None
)


class collecting_violations:  # noqa: N801 -- used like a function, as contextlib's own
    """Collects the violations of a run, also those in threads that have its context."""

    __slots__ = ("_token",)

    def __enter__(self) -> Violations:
        violations: Violations = {}
        self._token: Token[Violations | None] = _violations.set(violations)
        return violations

    def __exit__(self, *_: object) -> None:
        _violations.reset(self._token)


def note_violations(violations: Iterable[AdapterError]) -> None:
    """Add violations to those of the run, if there is one."""
    known = _violations.get()
    if known is not None:
        for violation in violations:
            known.setdefault(violation.method, violation)


def warn_of_violations(violations: Violations) -> None:
    """Warn of advisory methods that failed, at the end of a run that did not."""
    for violation in violations.values():
        warn(f"{violation}; {_SAME_RESULT}", AdapterWarning)
