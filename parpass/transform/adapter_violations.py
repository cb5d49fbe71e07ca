"""The errors of an adapter's advisory methods, of which a run warns at its end.

No result depends on these methods (`checked_adapter`). A worker sends the violations
that it has recorded to the coordinator, which warns of each method once.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import AdapterError
from parpass.errors.warning import AdapterWarning, warn
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.checked_adapter import CheckedAdapter

_SAME_RESULT = "the result is that of a serial run, but may have taken longer"


def take_violations(adapter: ModuleAdapter) -> list[AdapterError]:
    """Return and clear the recorded errors of advisory methods."""
    found: object = adapter
    return found.take_violations() if isinstance(found, CheckedAdapter) else []


def add_violations(adapter: ModuleAdapter, violations: Sequence[AdapterError]) -> None:
    """Record errors of advisory methods that another process recorded."""
    found: object = adapter
    if isinstance(found, CheckedAdapter):
        for violation in violations:
            found.add_violation(violation)


class warning_of_violations:  # noqa: N801 -- used like a function, as contextlib's own
    """A context manager around a run: warns of failed advisory methods at its end.

    If the run fails, it does not warn. It is no generator, as contextlib writes to
    exceptions that pass through one, and some exceptions are frozen.

    Args:
        adapter: The adapter.
    """

    def __init__(self, adapter: ModuleAdapter) -> None:
        self._adapter = adapter

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> None:
        violations = take_violations(self._adapter)
        for violation in violations if kind is None else ():
            warn(f"{violation}; {_SAME_RESULT}", AdapterWarning)
