"""The bodies of passes that run in this process, and their observers.

A process may die in a body, and a body may take much memory. An observer is called
before each body begins and after it ended, so that what it notes may outlive the
process. Without observers that takes a look at an empty tuple.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from parpass.fork_safety import process_lock

# The pass, and the function that it is on; None for a module pass.
ActiveBody = tuple[str, str | None]


class BodyObserver:
    """Observes the bodies of all passes of this process; the base does nothing."""

    def begin(self, body: ActiveBody, context: Any) -> Any:
        """Observe that a body begins; return the token for `end`.

        `context` is the `PassContext` that the pass runs under.
        """

    def end(self, token: Any) -> None:
        """Observe that a body ended: it returned, or raised."""

    def pause(self) -> Any:
        """Observe work in a body that is not its own; return the token for `resume`."""

    def resume(self, token: Any) -> None:
        """Observe that such work ended."""


_Begun = Sequence[tuple[BodyObserver, Any]]

_observers: tuple[BodyObserver, ...] = ()


def add_observer(observer: BodyObserver) -> None:
    """Call an observer for the bodies that begin from now on."""
    global _observers
    with process_lock:
        _observers = (*_observers, observer)


def remove_observer(observer: BodyObserver) -> None:
    """Call an observer for no further bodies; it is called at the end of others."""
    global _observers
    with process_lock:
        _observers = tuple(one for one in _observers if one is not observer)


@contextlib.contextmanager
def observing_bodies(
    callback: Callable[[ActiveBody | None], object],
) -> Generator[None]:
    """Call `callback` at the start of each body of this process in the block.

    At the end of a body it is called with the enclosing body, or with None.
    """
    observer = _CurrentBody(callback)
    add_observer(observer)
    try:
        yield
    finally:
        remove_observer(observer)


class _CurrentBody(BodyObserver):
    def __init__(self, callback: Callable[[ActiveBody | None], object]) -> None:
        self._callback = callback
        self._current: ActiveBody | None = None

    def begin(self, body: ActiveBody, context: Any) -> ActiveBody | None:
        del context
        outer, self._current = self._current, body
        self._callback(body)
        return outer

    def end(self, token: ActiveBody | None) -> None:
        self._current = token
        self._callback(token)


def begin_body(pass_name: str, function: str | None, context: Any) -> _Begun:
    if not _observers:
        return ()
    body = pass_name, function
    return [(one, one.begin(body, context)) for one in _observers]


def end_body(begun: _Begun) -> None:
    if begun:
        for observer, token in begun:
            observer.end(token)


@contextlib.contextmanager
def pausing_observers() -> Generator[None]:
    """Pause the observers, for work in the midst of a body that is not its own."""
    paused = [(one, one.pause()) for one in _observers]
    try:
        yield
    finally:
        for observer, token in paused:
            observer.resume(token)
