"""Warnings: the run goes on, and its user should know."""

from __future__ import annotations

import warnings
from contextvars import ContextVar, Token
from types import FrameType
from typing import Any, NamedTuple


class UnpicklablePassWarning(RuntimeWarning):
    """A pass cannot travel to the workers, so it runs in this process."""


class PassStateWarning(RuntimeWarning):
    """A function pass changed itself in a worker; the change does not come back."""


class SlowerRunWarning(RuntimeWarning):
    """A run goes on by a slower road than was asked for; its result is the same."""


class BlockedLoopWarning(RuntimeWarning):
    """An event loop stands still while it runs a pipeline; it could await it."""


class BudgetWarning(RuntimeWarning):
    """A budget was set that nothing can enforce where the passes run."""


class _Line(NamedTuple):
    """A line of the user's, as `warnings.warn_explicit` takes it."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]


_called_from: ContextVar[_Line | None] = ContextVar("parpass_called_from", default=None)

_OURS = frozenset({"parpass", "contextlib"})  # packages whose frames are passed over
# Where these call us there is no more of the user's: it is a thread, or an event loop.
_LOOPS = frozenset({"asyncio", "concurrent", "outcome", "threading", "trio"})


def warn(message: str, category: type[Warning]) -> None:
    """Warn of something at the line of the user's that it comes from.

    That is the innermost one outside of parpass, or, in a thread or task of ours, the
    one from which a run was awaited.
    """
    line = _users_line() or _called_from.get()
    if line is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        warnings.warn_explicit(message, category, *line)


class called_from_here:  # noqa: N801 -- used like a function, as contextlib's own
    """Have what runs elsewhere for the block's code warn at the line that called it."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        line = _users_line() or _called_from.get()
        self._token: Token[_Line | None] = _called_from.set(line)

    def __exit__(self, *_: object) -> None:
        _called_from.reset(self._token)


def _users_line() -> _Line | None:
    import inspect  # it takes long to load, and warnings are rare

    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        module: str = frame.f_globals.get("__name__") or "<string>"
        package = module.partition(".")[0]
        if package in _LOOPS:
            break
        if package not in _OURS:
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            return _Line(frame.f_code.co_filename, frame.f_lineno, module, registry)
        frame = frame.f_back
    return None
