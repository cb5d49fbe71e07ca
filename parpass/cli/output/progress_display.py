"""The progress of a command on standard error.

In a terminal, a few lines are redrawn in place and erased at the end. Without one, a
line is written every few seconds. The lines are erased before other text is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Generator
from typing import Any, TextIO

from parpass.report.progress import ProgressCallback
from parpass.report.progress_text import one_line, stage_text, worker_lines
from parpass.runner import Progress

_FIRST_SECONDS = 1.0  # of a command, in which a terminal shows nothing
_LINE_SECONDS = (
    10.0  # before the first line and between two, where there is no terminal
)
_BAR_CHARS = 20
_ERASE_BELOW = "\r\x1b[J"


@contextlib.contextmanager
def showing_progress(*, quiet: bool) -> Generator[ProgressCallback | None]:
    """Yield a callback that shows the progress of runs; None if `quiet`."""
    if quiet:
        yield None
        return
    out, err = sys.stdout, sys.stderr
    display = _Display(
        err, is_terminal=err.isatty() and os.environ.get("TERM") != "dumb"
    )
    guarded = _GuardedStream(err, display)
    sys.stderr = guarded  # pyright: ignore[reportAttributeAccessIssue] -- a stream
    if display.is_terminal and out.isatty():
        sys.stdout = _GuardedStream(out, display)  # pyright: ignore[reportAttributeAccessIssue] -- likewise
    try:
        yield display.show
    finally:
        display.close()
        if sys.stderr is guarded:
            sys.stdout, sys.stderr = out, err


class _GuardedStream:
    """A stream that erases the lines of a display before it writes."""

    def __init__(self, stream: TextIO, display: _Display) -> None:
        self._stream, self._display = stream, display

    def write(self, text: str) -> int:
        with self._display.lock:
            self._display.make_way(text)
            return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Display:
    """The lines on standard error; called from the thread of the run."""

    def __init__(self, stream: TextIO, *, is_terminal: bool) -> None:
        self._stream = stream
        self.is_terminal = is_terminal
        self.lock = threading.RLock()
        self._began = self._last = time.monotonic()
        self._is_drawn = False
        self._at_line_start = True

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        with self.lock, contextlib.suppress(OSError, ValueError):  # nobody reads it
            if progress.is_last:
                self._erase()
            elif not self._at_line_start:
                return  # somebody is in the middle of a line
            elif self.is_terminal:
                if now - self._began >= _FIRST_SECONDS:
                    self._draw(progress)
            elif now - self._last >= _LINE_SECONDS:
                self._last = now
                self._stream.write(f"Progress: {one_line(progress)}\n")
                self._stream.flush()

    def make_way(self, text: str) -> None:
        """Erase the lines before this text is written."""
        if text:
            with contextlib.suppress(OSError, ValueError):
                self._erase()
            self._at_line_start = text.endswith("\n")

    def close(self) -> None:
        with self.lock, contextlib.suppress(OSError, ValueError):
            self._erase()

    def _draw(self, progress: Progress) -> None:
        size = shutil.get_terminal_size()
        lines = [line[: size.columns - 1] for line in terminal_lines(progress)]
        lines = lines[: max(1, size.lines - 2)]
        # The cursor stays where they begin, for what others write to the terminal.
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        self._stream.write(_ERASE_BELOW + "\n".join(lines) + "\r" + up)
        self._stream.flush()
        self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._stream.write(_ERASE_BELOW)
            self._stream.flush()


def terminal_lines(progress: Progress) -> list[str]:
    """Return the progress of a run as lines: the stage, and each worker."""
    bar = ""
    if progress.functions:
        full = _BAR_CHARS * progress.done // progress.functions
        bar = "#" * full + "." * (_BAR_CHARS - full) + " "
    workers = [f"  {line}" for line in worker_lines(progress)]
    return [bar + stage_text(progress), *workers]
