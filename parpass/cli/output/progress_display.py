"""The progress of a command, as it is shown on standard error.

A terminal has a few lines that are drawn again in place, and are gone at the end. Where
there is none, a line is written now and then. Other text that goes to the same terminal
is whole: the lines make way for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TextIO

from parpass.runner import Progress, WorkerActivity
from parpass.runner.report.figures import time_text

_FIRST_SECONDS = 1.0  # of a command, in which a terminal shows nothing
_LINE_SECONDS = (
    10.0  # before the first line and between two, where there is no terminal
)
_MAX_WORKER_LINES = 8
_MAX_PASSES_CHARS = 60
_BAR_CHARS = 20
_ERASE_BELOW = "\r\x1b[J"

ProgressCallback = Callable[[Progress], object]


@contextlib.contextmanager
def showing_progress(*, quiet: bool) -> Generator[ProgressCallback | None]:
    """Yield what shows on standard error how far the runs in the block are.

    Args:
        quiet: Whether nothing is shown; None is yielded then.
    """
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
    """A stream that has the lines of a display erased before it is written to."""

    def __init__(self, stream: TextIO, display: _Display) -> None:
        self._stream, self._display = stream, display

    def write(self, text: str) -> int:
        """Write text, whole."""
        with self._display.lock:
            self._display.make_way(text)
            return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        """Write several pieces of text."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Display:
    """The lines on standard error; called from the thread that tells of progress."""

    def __init__(self, stream: TextIO, *, is_terminal: bool) -> None:
        self._stream = stream
        self.is_terminal = is_terminal
        self.lock = threading.RLock()
        self._began = self._last = time.monotonic()
        self._is_drawn = False
        self._at_line_start = True

    def show(self, progress: Progress) -> None:
        """Show how far a run is, if it is time for that."""
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
        """Erase the lines, since this text is to be written."""
        if text:
            with contextlib.suppress(OSError, ValueError):
                self._erase()
            self._at_line_start = text.endswith("\n")

    def close(self) -> None:
        """Erase the lines."""
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


def one_line(progress: Progress) -> str:
    """Return how far a run is as one line, which names what is slow."""
    text = _stage_text(progress)
    if progress.slow:
        slow = [f"{_activity_text(one)}" for one in progress.slow]
        text += f"; slow: {'; '.join(slow)}"
    elif len(progress.workers) == 1:
        text += f"; at {_activity_text(progress.workers[0])}"
    return text


def terminal_lines(progress: Progress) -> list[str]:
    """Return how far a run is as lines: of the stage, and of each worker."""
    bar = ""
    if progress.functions:
        full = _BAR_CHARS * progress.done // progress.functions
        bar = "#" * full + "." * (_BAR_CHARS - full) + " "
    lines = [bar + _stage_text(progress)]
    # Those that are slow are shown, however many workers there are.
    workers = sorted(progress.workers, key=lambda one: one not in progress.slow)
    for one in workers[:_MAX_WORKER_LINES]:
        mark = ", slow" if one in progress.slow else ""
        where = "here" if one.worker is None else f"worker {one.worker}"
        lines.append(f"  {where}: {_activity_text(one)}{mark}")
    if len(workers) > _MAX_WORKER_LINES:
        lines.append(f"  and {len(workers) - _MAX_WORKER_LINES} more workers")
    return lines


def _stage_text(progress: Progress) -> str:
    text = f"stage {progress.stage}: "
    if progress.functions:
        text += f"{progress.done} of {progress.functions} functions, "
    text += f"{progress.seconds:.0f} s"
    if progress.eta is not None:
        text += f", about {progress.eta:.0f} s left"
    passes = ", ".join(progress.passes)
    if len(passes) > _MAX_PASSES_CHARS:
        passes = f"{passes[: _MAX_PASSES_CHARS - 3]}..."
    return f"{text} ({passes})"


def _activity_text(one: WorkerActivity) -> str:
    if one.function is None:
        what = one.pass_name or "starting"
    elif one.pass_name is None:
        what = f"'{one.function}'"
    else:
        what = f"{one.pass_name} on '{one.function}'"
    return f"{what}, {time_text(one.seconds) if one.seconds >= 1 else 'now'}"
