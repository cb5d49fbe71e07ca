"""Meter of the memory that passes take: the peak of each call, by `tracemalloc`.

tracemalloc knows one peak of the whole process. So at each beginning and end of a call
that peak is noted for all calls in progress, and reset: calls may be in several
threads, and in one another. What other threads allocate during a call counts as well.

It is loaded for runs that ask for it alone, as tracemalloc takes time to load, and far
more to run.
"""

from __future__ import annotations

import contextlib
import sys
import tracemalloc
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Protocol

from parpass.fork_safety import ProcessPatch, process_lock
from parpass.transform.capture.bodies import (
    ActiveBody,
    BodyObserver,
    add_observer,
    remove_observer,
)
from parpass.transform.capture.pass_memory import PassMemory


class MeasuredContext(Protocol):
    """A `PassContext`, by what is used of it here."""

    memory: tuple[PassMemory, ...]


@contextlib.contextmanager
def measuring_memory(context: MeasuredContext) -> Generator[PassMemory]:
    """Measure the passes that run under a context in the block.

    tracemalloc runs meanwhile, which slows this process down. What the block gets is
    added to as passes end.
    """
    found = PassMemory()
    with _tracing:
        context.memory = (*context.memory, found)
        try:
            yield found
        finally:
            context.memory = tuple(one for one in context.memory if one is not found)


class _Call:
    """A call in progress: the memory allocated at its beginning, and the peak since."""

    __slots__ = ("base", "body", "context", "outer", "peak")

    def __init__(
        self,
        body: ActiveBody,
        context: MeasuredContext,
        outer: _Call | None,
        allocated: int,
    ) -> None:
        self.body, self.context, self.outer = body, context, outer
        self.base = self.peak = allocated


_current: ContextVar[_Call | None] = ContextVar("parpass_measured", default=None)


class _Meter(BodyObserver):
    """Measures the calls of passes whose context asks for it."""

    def __init__(self) -> None:
        self._in_progress: list[_Call] = []
        self._highest = 0  # peak, of what whoever runs tracemalloc besides would see

    def start(self) -> Callable[[], None]:
        is_running = tracemalloc.is_tracing()
        if not is_running:
            tracemalloc.start()
        self._highest = tracemalloc.get_traced_memory()[1]
        add_observer(self)

        def undo() -> None:
            remove_observer(self)
            if not is_running:
                tracemalloc.stop()
                return
            with process_lock:
                self._note_peaks()
                _give_back_peak(self._highest)

        return undo

    def begin(self, body: ActiveBody, context: Any) -> _Call | None:
        """Begin to measure; a body within a body of the same context is part of it."""
        outer = _current.get()
        if not context.memory or (outer is not None and outer.context is context):
            return None
        with process_lock:
            call = _Call(body, context, outer, self._note_peaks())
            self._in_progress.append(call)
        _current.set(call)
        return call

    def end(self, token: _Call | None) -> None:
        if token is None:
            return
        _current.set(token.outer)
        with process_lock:
            self._note_peaks()
            self._in_progress.remove(token)
            for one in token.context.memory:
                one.add(*token.body, token.peak - token.base)

    def pause(self) -> tuple[_Call, int] | None:
        call = _current.get()
        if call is None:
            return None
        with process_lock:
            allocated = self._note_peaks()
            self._in_progress.remove(call)
        _current.set(None)
        return call, allocated

    def resume(self, token: tuple[_Call, int] | None) -> None:
        """Measure the call again, as if what was kept since had been there before."""
        if token is None:
            return
        call, allocated = token
        _current.set(call)
        with process_lock:
            kept = self._note_peaks() - allocated
            call.base += kept
            call.peak += kept
            self._in_progress.append(call)

    def _note_peaks(self) -> int:
        """Note the peak since the last time for all calls; return what is allocated."""
        now, peak = tracemalloc.get_traced_memory()
        for call in self._in_progress:
            call.peak = max(call.peak, peak)
        self._highest = max(self._highest, peak)
        tracemalloc.reset_peak()
        return now


def _give_back_peak(size: int) -> None:
    """Raise the peak of tracemalloc to so many bytes again.

    It cannot be set. But a block of zeros counts with its whole size, and as nothing
    is written to it the system gives no memory for it. Where another thread frees some
    before the block is there, the next one is larger.
    """
    with contextlib.suppress(MemoryError):  # the process may be limited
        while tracemalloc.get_traced_memory()[1] < size:
            now, _ = tracemalloc.get_traced_memory()
            bytes(max(size - now - sys.getsizeof(b""), 1))


# A forked child has no tracemalloc that nobody stops.
_tracing = ProcessPatch(_Meter().start)
