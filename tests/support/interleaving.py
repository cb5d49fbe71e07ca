"""Two calls in two threads, the second one at each line of the first."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any, Generic, TypeVar

ValueT = TypeVar("ValueT")

_PATIENCE = 0.005  # seconds for a call that may wait for the other one


class _Call(Generic[ValueT]):
    """A call in a thread of its own."""

    def __init__(self, function: Callable[[], ValueT]) -> None:
        self.function = function
        self._result: ValueT | None = None
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._result = self.function()
        except BaseException as error:  # noqa: BLE001 -- raised by the test
            self._error = error

    def result(self) -> ValueT:
        self.thread.join(60)
        assert not self.thread.is_alive(), "the two wait for each other"
        if self._error is not None:
            raise self._error
        return self._result  # pyright: ignore[reportReturnType]


def interleaved(
    calls: Callable[[], tuple[Callable[[], ValueT], Callable[[], ValueT]]],
    files: Collection[str],
) -> Iterator[tuple[ValueT, ValueT]]:
    """Yield what two calls give, for each line of the first at which the other runs.

    Args:
        calls: Makes the two anew, each time on things of their own.
        files: The files whose lines count, by the ends of their paths.
    """
    for line in itertools.count(1):
        first, second = calls()
        came = _at_line(line, first, _Call(second), tuple(files))
        if came is None:
            return
        yield came


def _at_line(
    line: int,
    first: Callable[[], ValueT],
    second: _Call[ValueT],
    files: tuple[str, ...],
) -> tuple[ValueT, ValueT] | None:
    """Return what two calls give; None if the first has not so many lines."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(files):
            return None
        lines += event == "line"
        if event == "line" and lines == line:
            second.thread.start()
            second.thread.join(_PATIENCE)
        return trace

    def traced() -> ValueT:
        sys.settrace(trace)
        try:
            return first()
        finally:
            sys.settrace(None)

    call = _Call(traced)
    call.thread.start()
    ended = call.result()
    return None if lines < line else (ended, second.result())
