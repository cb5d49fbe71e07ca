"""The violations of a run: errors of advisory methods of its adapter.

No result depends on these methods. The run goes on, and warns of each at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import cast

from parpass.errors import AdapterError
from parpass.errors.warning import AdapterWarning, warn
from parpass.transform.variable_setting import setting

_SAME_RESULT = "the result is still that of a serial run, but the run may be slower"

# The first error of each advisory method that failed, by method.
Violations = dict[str, AdapterError]
_violations: ContextVar[Violations | None] = ContextVar(
    "parpass_violations", default=None
)


def collecting_violations() -> setting[Violations]:
    """Collect the violations of a run, also those in threads that have its context."""
    return setting(cast("ContextVar[Violations]", _violations), {})


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
