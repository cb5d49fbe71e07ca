"""Writing reproducers of the passes in `breaking`, and calling the command on them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.relay import parse
from parpass.runtime import run_pipeline_sync
from parpass.transform import PassContext
from tests.support import breaking

BREAKING = breaking.__file__


def write_reproducer(
    path: Path, pipeline: str, program: str = breaking.PROGRAM
) -> Path:
    """Run a pipeline that fails, and return where its reproducer is."""
    config = {"parpass.reproducer": str(path), "parpass.asking_workers_seconds": 0.0}
    workers = 1 if "Crash" in pipeline else 0
    with contextlib.suppress(Exception):
        run_pipeline_sync(
            parse(program),
            pipeline,
            context=PassContext(config=config),
            workers=workers,
        )
    assert path.exists()
    return path


def command(*arguments: str | Path, stdin: str | None = None) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)
