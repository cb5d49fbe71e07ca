"""The progress of a run as text: of its stage, and the activity of its workers."""

from __future__ import annotations

import sys
import time

from parpass.report.figures import time_text
from parpass.report.progress import Progress, WorkerActivity

_LINE_SECONDS = 1.0  # between two lines
_MAX_WORKER_LINES = 8
_MAX_PASSES_CHARS = 60


class ProgressLines:
    """Writes how far a run is to standard error: a line a second, and the last one."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        # There is none in a program without a console.
        if sys.stderr is not None and (  # pyright: ignore[reportUnnecessaryComparison]
            progress.is_last or now - self._last >= _LINE_SECONDS
        ):
            self._last = now
            shown = progress._replace(eta=None) if progress.is_last else progress
            sys.stderr.write(f"Progress: {one_line(shown)}\n")
            sys.stderr.flush()


def one_line(progress: Progress) -> str:
    """Return the progress of a run as one line, which names what is slow."""
    text = stage_text(progress)
    if progress.slow:
        slow = [f"{_activity_text(one)}" for one in progress.slow]
        text += f"; slow: {'; '.join(slow)}"
    elif len(progress.workers) == 1:
        text += f"; at {_activity_text(progress.workers[0])}"
    return text


def stage_text(progress: Progress) -> str:
    text = f"stage {progress.stage}: " if progress.stage else ""
    if progress.functions:
        text += f"{progress.done} of {progress.functions} functions, "
    text += f"{progress.seconds:.0f} s"
    if progress.eta is not None:
        text += f", about {progress.eta:.0f} s left"
    passes = ", ".join(progress.passes)
    if len(passes) > _MAX_PASSES_CHARS:
        passes = f"{passes[: _MAX_PASSES_CHARS - 3]}..."
    return f"{text} ({passes})"


def worker_lines(progress: Progress) -> list[str]:
    """Return a line for each worker, at most eight, those that are slow first."""
    lines: list[str] = []
    workers = sorted(progress.workers, key=lambda one: one not in progress.slow)
    for one in workers[:_MAX_WORKER_LINES]:
        mark = ", slow" if one in progress.slow else ""
        where = "here" if one.worker is None else f"worker {one.worker}"
        lines.append(f"{where}: {_activity_text(one)}{mark}")
    if len(workers) > _MAX_WORKER_LINES:
        lines.append(f"and {len(workers) - _MAX_WORKER_LINES} more workers")
    return lines


def _activity_text(one: WorkerActivity) -> str:
    if one.function is None:
        what = one.pass_name or "starting"
    elif one.pass_name is None:
        what = f"'{one.function}'"
    else:
        what = f"{one.pass_name} on '{one.function}'"
    return f"{what}, {time_text(one.seconds) if one.seconds >= 1 else 'now'}"
