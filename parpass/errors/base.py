"""The root of all errors, and what their messages have in common."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable
from typing import Any

_ALIKE = 0.5  # how much of two names has to match, as a share of both
_NEARLY_AS_NEAR = 0.1  # how much less than the nearest's is shown besides it


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known name that is most like `name`, and those nearly as near.

    They are three at most, best first.
    """
    by_folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_folded, n=3, cutoff=_ALIKE)
    if not found:
        return []
    matcher = difflib.SequenceMatcher(b=name.lower())

    def likeness(folded: str) -> float:
        matcher.set_seq1(folded)
        return matcher.ratio()

    least = likeness(found[0]) - _NEARLY_AS_NEAR
    return [by_folded[folded] for folded in found if likeness(folded) >= least]


def quoted(names: Iterable[str]) -> str:
    """Return names in single quotes, separated by commas."""
    return ", ".join(f"'{name}'" for name in names)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known names."""
    near = nearest(name, known)
    return f"; did you mean {quoted(near)}?" if near else ""


def kind_of(value: object) -> str:
    """Return what kind of value came in the place of another one, for a message.

    Of what frontends return, a module and its weights, it says how to take it apart.
    """
    name = type(value).__name__
    return (
        f"{name}; is it a pair, as in mod, params = ...?" if name == "tuple" else name
    )


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, if it takes any; one that is frozen is left alone."""
    with contextlib.suppress(Exception):  # whatever a user's class does when written to
        error.add_note(note)


def attribute_of(error: BaseException, name: str, default: Any = None) -> Any:
    """Return an attribute of an exception, whatever its class does when asked."""
    try:
        return getattr(error, name, default)
    except Exception:  # noqa: BLE001 -- a `__getattr__` that looks into a table, say
        return default


class ParpassError(Exception):
    """The root of all errors that parpass raises itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        # KeyError, one of our second bases, would show its message in quotes.
        return str(self.args[0]) if self.args else ""


def _rebuild(
    kind: type[ParpassError], args: tuple[Any, ...], state: dict[str, Any]
) -> ParpassError:
    # Constructors take values, not the message, so unpickling goes round them.
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
