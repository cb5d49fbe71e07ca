"""The times of reading and writing files, which the times of runs do not include."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator


class FileTimes:
    """The seconds of reading and of writing; None if there was none."""

    def __init__(self) -> None:
        self.read: float | None = None
        self.written: float | None = None

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        began = time.perf_counter()
        yield
        self.read = (self.read or 0.0) + time.perf_counter() - began

    @contextlib.contextmanager
    def writing(self) -> Generator[None]:
        began = time.perf_counter()
        yield
        self.written = (self.written or 0.0) + time.perf_counter() - began
