"""Writing reproducers of the passes in `breaking`, and calling the command on them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from click.testing import CliRunner, Result
from msgspec import structs

from parpass.cli import main
from parpass.relay import parse
from parpass.runtime import run_pipeline_sync
from parpass.transform import PassContext
from parpass.transform.reproducer import Reproducer
from tests.support import breaking

BREAKING = breaking.__file__


def write_reproducer(path: Path, pipeline: str) -> Path:
    """Run a pipeline that fails, and return where its reproducer is."""
    context = PassContext(config={"parpass.reproducer": str(path)})
    with contextlib.suppress(Exception):
        run_pipeline_sync(parse(breaking.PROGRAM), pipeline, context=context, workers=0)
    assert path.exists()
    return path


def write_crash(path: Path, how: str) -> Path:
    """Return where a reproducer of a worker's death is, that no worker died for."""
    found = Reproducer.from_text(write_reproducer(path, "FailOnExp").read_text())
    crash = structs.replace(
        found,
        error="WorkerDiedError: a worker process died",
        pass_name="CrashOnExp",
        pipeline=f"CrashOnExp{{how={how}}}",
    )
    path.write_text(crash.to_text())
    return path


def command(*arguments: str | Path, stdin: str | None = None) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)
