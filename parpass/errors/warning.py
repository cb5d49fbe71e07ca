"""The warnings of parpass, and their attribution to lines of user code."""

from __future__ import annotations

import warnings
from contextvars import ContextVar, Token
from types import FrameType
from typing import Any, NamedTuple

from parpass.errors.hints import Hinted

__all__ = [
    "AdapterWarning",
    "BlockedLoopWarning",
    "BudgetWarning",
    "CacheMismatchWarning",
    "PassNameWarning",
    "PassStateWarning",
    "ProgressWarning",
    "SlowerRunWarning",
    "TraceWarning",
    "UnpicklablePassWarning",
]


class UnpicklablePassWarning(Hinted, RuntimeWarning):
    """A pass cannot be pickled for the workers, so it runs in this process."""


class PassNameWarning(Hinted, RuntimeWarning):
    """A context requires or disables a pass by a name that no pass has."""


class PassStateWarning(Hinted, RuntimeWarning):
    """A function pass changed its state in a worker; the change is not sent back."""


class ProgressWarning(Hinted, RuntimeWarning):
    """A progress callback failed, and was called no more; the run went on."""


class CacheMismatchWarning(Hinted, RuntimeWarning):
    """A result in a cache differs from the one computed again, which is used."""


class SlowerRunWarning(Hinted, RuntimeWarning):
    """A run falls back to a slower path than requested, with an equal result."""


class BlockedLoopWarning(Hinted, RuntimeWarning):
    """An event loop is blocked by a synchronous run that it could await instead."""


class BudgetWarning(Hinted, RuntimeWarning):
    """A budget is set that cannot be enforced where the passes run."""


class AdapterWarning(Hinted, RuntimeWarning):
    """An optional method of an adapter failed; the run is right, but may be slower."""


class TraceWarning(Hinted, RuntimeWarning):
    """A trace cannot be written; the runs that it was to be of are not affected."""


class _CallSite(NamedTuple):
    """A line of user code, in the form that `warnings.warn_explicit` takes."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]


_call_site: ContextVar[_CallSite | None] = ContextVar(
    "parpass_called_from", default=None
)

# Frames of these packages are skipped.
_INTERNAL_PACKAGES = frozenset({"parpass", "contextlib"})
# Below their frames, those of a thread or an event loop, there is no user code.
_EVENT_LOOP_PACKAGES = frozenset(
    {"asyncio", "concurrent", "outcome", "threading", "trio"}
)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line of user code that caused it.

    That is the innermost frame outside of parpass; in a thread or task of parpass, the
    line that awaits the run (`warn_at_call_site`).
    """
    line = _user_call_site() or _call_site.get()
    if line is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        warnings.warn_explicit(message, category, *line)


class warn_at_call_site:  # noqa: N801 -- used like a function, as contextlib's own
    """A context manager: other threads and tasks warn at the line that entered it.

    It applies to threads and tasks that inherit the block's context.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        line = _user_call_site() or _call_site.get()
        self._token: Token[_CallSite | None] = _call_site.set(line)

    def __exit__(self, *_: object) -> None:
        _call_site.reset(self._token)


def _user_call_site() -> _CallSite | None:
    import inspect  # it takes long to load, and warnings are rare

    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        module: str = frame.f_globals.get("__name__") or "<string>"
        package = module.partition(".")[0]
        if package in _EVENT_LOOP_PACKAGES:
            break
        if package not in _INTERNAL_PACKAGES:
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            return _CallSite(frame.f_code.co_filename, frame.f_lineno, module, registry)
        frame = frame.f_back
    return None
