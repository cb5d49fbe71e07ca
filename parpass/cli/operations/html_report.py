"""The option `--report`: the recording of runs as a page of HTML."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING

import click

from parpass.cli.files.writing import write_text
from parpass.cli.output.failure import InputError
from parpass.runner import Runner
from parpass.transform import PassContext

if TYPE_CHECKING:
    from parpass.report.html.page import Recording


@contextlib.contextmanager
def writing_report(
    path: str | None, runner: Runner, context: PassContext
) -> Generator[Recording | None]:
    """Record the runs of the block, and write what was recorded, however it ends.

    A page that cannot be written is a warning, and the result of the runs stands.
    Without a path nothing is recorded.
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
            _write(recording, path)


def _write(recording: Recording, path: str) -> None:
    try:
        write_text(recording.to_html(), path)
    except InputError as error:
        click.echo(f"Warning: {error.message}", err=True)
