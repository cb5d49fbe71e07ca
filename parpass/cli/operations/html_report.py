"""The option `--report`: the recording of runs as a page of HTML."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from parpass.cli.files.writing import write_or_warn
from parpass.cli.output.failure import command_line
from parpass.report.progress import ProgressCallback
from parpass.runner import Runner
from parpass.transform import PassContext

if TYPE_CHECKING:
    from parpass.report.html.page import Recording


@contextlib.contextmanager
def writing_report(
    path: str | None,
    runner: Runner,
    context: PassContext,
    trace: str | None,
    progress: ProgressCallback | None,
) -> Generator[Recording | None]:
    """Record the runs of the block, and write the page, even if the block fails.

    A page that cannot be written is a warning. Without a path nothing is recorded.
    `trace` is the path of a trace that the block writes; the page contains it.
    `progress` is called while the page is made.
    """
    if path is None:
        yield None
        return
    recording: Recording | None = None
    try:
        with runner.record(context) as recording:
            yield recording
    finally:
        if recording is not None:
            recording.command = command_line()
            recording.trace = b"" if trace is None else _trace(trace)
            write_or_warn(recording.to_html(progress=progress).encode(), path)


def _trace(path: str) -> bytes:
    try:
        written = Path(path).read_bytes()
    except OSError:  # it could not be written either, and that was said
        return b""
    return written if path.endswith(".gz") else gzip.compress(written)
