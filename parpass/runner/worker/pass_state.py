"""Whether passes keep something from one function to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.transform import Pass

_Attribute = tuple[int, str]  # of which pass, by its index, and its name


class PassState:
    """Looks at what passes write to themselves.

    What is made once, when it is first wanted, is no fault: a `cached_property`, a
    table in the place of None. It is made of the options, so each worker makes the
    same. But where an attribute that had a value has another one after a function,
    later functions see what depends on those before them: a serial run may give
    something else.

    Args:
        steps: The passes.
    """

    def __init__(self, steps: Sequence[Pass]) -> None:
        self._steps = steps
        self._before = _attributes(steps)
        self._changed: dict[tuple[str, str], None] = {}

    def look(self) -> list[tuple[str, str]]:
        """Return what changed since this was made: pass name and attribute."""
        before, self._before = self._before, _attributes(self._steps)
        for (at, attribute), value in before.items():
            now = self._before.get((at, attribute))
            if value is not None and now is not value and not _equal(now, value):
                self._changed[self._steps[at].info.name, attribute] = None
        return list(self._changed)


def _attributes(steps: Sequence[Pass]) -> dict[_Attribute, Any]:
    found: dict[_Attribute, Any] = {}
    for at, step in enumerate(steps):
        inner = getattr(step, "_inst", None)
        for holder in (step, inner):
            for name, value in getattr(holder, "__dict__", {}).items():
                found[at, name] = value
    return found


def _equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001 -- whatever a user's class does in its __eq__
        return False
