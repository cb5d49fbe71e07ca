"""Runs on a program of Relay with a function cache, for tests and their processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parpass import relay
from parpass.runner import FunctionCache, open_runner

PIPELINE = "InferType,SimplifyExpr,FoldConstant,FuseOps,EliminateCommonSubexpr"
TEXT = """#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { negative(%x) }
def @g(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { abs(@f(%x)) }
def @h(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, add(1f, 2f)) }
"""


def made(text: str, folder: Path | None = None, **how: Any) -> tuple[str, int]:
    """Run the pipeline; return what it makes, and how many functions were recalled.

    Args:
        text: The program.
        folder: That of a function cache.
        how: Other arguments of that cache; without them, and a folder, there is none.
    """
    cache = FunctionCache(folder, **how) if folder or how else None
    with open_runner(workers=0, cache=cache) as runner:
        after = runner.run_sync(relay.parse(text), PIPELINE).astext()
        report = runner.last_report
    assert report is not None
    return after, report.cache.recalled if report.cache else 0
