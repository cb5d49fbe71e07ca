"""The timeline of a process in a traced stage: compact, and cheap to record.

Each entry is four numbers in one array: start, end, kind of work, and the function by
index. So a pass on a function takes 32 bytes, in a message as in memory.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence

# In place of the index of a pass.
LOADING = -1  # the stage: its passes, and what they import
DECODING = -2
ENCODING = -3

NO_FUNCTION = -1

# Start and end by `time.perf_counter()`, kind of work, function.
Call = tuple[float, float, int, int]


class CallRecorder:
    """The calls of passes on functions, and the work around them, in order.

    Attributes:
        began: When recording began, by `time.perf_counter()`.
    """

    def __init__(self, began: float | None = None) -> None:
        self.began = time.perf_counter() if began is None else began
        self._entries = array("d")

    def add(self, began: float, what: int, function: int = NO_FUNCTION) -> None:
        """Record work that ends now: a pass by its index, or one of the constants."""
        self._entries.extend((began, time.perf_counter(), what, function))

    def add_steps(self, function: int, seconds: Sequence[float], first: int) -> None:
        """Record the passes from `first` on, which have just run on a function."""
        for call in calls_until_now(function, seconds, first):
            self._entries.extend(call)

    def encoded(self) -> bytes:
        return self._entries.tobytes()


def calls_until_now(
    function: int, seconds: Sequence[float], first: int
) -> Iterator[Call]:
    """Yield the calls of passes from `first` on, which have just run on a function."""
    began = time.perf_counter() - sum(seconds[first:])
    for step in range(first, len(seconds)):
        ended = began + seconds[step]
        yield began, ended, step, function
        began = ended


def decoded_calls(encoded: bytes) -> Iterator[Call]:
    entries = array("d", encoded)
    for began, ended, what, function in zip(*[iter(entries)] * 4, strict=True):
        yield began, ended, int(what), int(function)
