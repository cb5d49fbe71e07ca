"""Writing reproducers of the passes in `breaking`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import structs

from parpass.instrument import PassInstrument
from parpass.relay import parse
from parpass.runner import run_pipeline_sync
from parpass.transform import PassContext
from parpass.transform.debug.reproducer import Reproducer
from tests.support.relay import breaking

BREAKING = breaking.__file__


def write_reproducer(
    path: Path,
    pipeline: str,
    instruments: Sequence[PassInstrument] = (),
    workers: int = 0,
) -> Path:
    """Run a pipeline that fails, and return where its reproducer is."""
    config = {"parpass.reproducer": str(path)}
    context = PassContext(instruments=instruments, config=config)
    mod = parse(breaking.PROGRAM)
    with contextlib.suppress(Exception):
        run_pipeline_sync(mod, pipeline, context=context, workers=workers)
    assert path.exists()
    return path


def write_crash(path: Path, how: str) -> Path:
    """Return where a reproducer of a worker's death is, that no worker died for."""
    return _write(path, "WorkerDiedError: a worker process died", "CrashOnExp", how)


def write_overspending(path: Path, error: str, how: str, **limits: float) -> Path:
    """Return where a reproducer of an exceeded limit is, that nobody waited for."""
    config = {f"parpass.{name}": limit for name, limit in limits.items()}
    return _write(path, error, "OverspendOnExp", how, config)


def _write(
    path: Path,
    error: str,
    pass_name: str,
    how: str,
    config: Mapping[str, object] = MappingProxyType({}),
) -> Path:
    found = Reproducer.from_text(write_reproducer(path, "FailOnExp").read_text())
    other = structs.replace(
        found,
        error=error,
        pass_name=pass_name,
        pipeline=f"{pass_name}{{how='{how}'}}",
        config=dict(config),
    )
    path.write_text(other.to_text())
    return path
