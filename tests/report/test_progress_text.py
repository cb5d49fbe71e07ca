"""Progress as text: how far a stage is, and what is slow."""

from __future__ import annotations

import re
from typing import Any

import pytest

from parpass import run_pipeline_sync
from parpass.errors import ArgumentError
from parpass.report import progress_text
from parpass.report.progress_text import ProgressLines, one_line, worker_lines
from parpass.runner import Progress, WorkerActivity
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

FAST = WorkerActivity(11, "Fold", "main", 0.5)
SLOW = WorkerActivity(12, "Fuse", "f7", 14.0)
HALF = Progress(
    3, ("Fold", "Fuse"), 5, 10, 20.0, 20.0, (FAST, SLOW), (SLOW,), ("f1", 1.0), False
)


def test_a_line_says_how_far_a_stage_is_and_names_what_is_slow():
    assert one_line(HALF) == (
        "stage 3: 5 of 10 functions, 20 s, about 20 s left (Fold, Fuse); "
        "slow: Fuse on 'f7', 14.00 s"
    )
    alone = HALF._replace(workers=(FAST,), slow=())
    assert one_line(alone).endswith("; at Fold on 'main', now")


def test_of_many_workers_some_have_a_line_slow_ones_first():
    lines = worker_lines(HALF._replace(workers=(FAST,) * 50 + (SLOW,)))
    assert lines[0] == "worker 12: Fuse on 'f7', 14.00 s, slow"
    assert lines[1:8] == ["worker 11: Fold on 'main', now"] * 7
    assert lines[8:] == ["and 43 more workers"]


@pytest.fixture
def long_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a test be over before a second is, however long it waits for a core."""
    monkeypatch.setattr(progress_text, "_LINE_SECONDS", 60.0)


@pytest.mark.usefixtures("long_seconds")
def test_lines_are_a_second_apart_and_the_last_one_is_written(
    capsys: pytest.CaptureFixture[str],
):
    lines = ProgressLines()
    lines(HALF)
    lines(HALF._replace(is_last=True))
    shown = f"Progress: {one_line(HALF._replace(eta=None))}\n"
    assert capsys.readouterr().err == shown


@pytest.mark.usefixtures("long_seconds")
def test_true_writes_lines_and_false_none(capsys: pytest.CaptureFixture[str]):
    for asks in True, False:
        run_pipeline_sync(program(1, 2), Add(), workers=0, progress=asks)
    told = r"Progress: stage 1: 2 of 2 functions, \d+ s \(Add\)\n"
    assert re.fullmatch(told, capsys.readouterr().err)


def test_what_cannot_be_called_is_refused_before_the_run():
    wrong: Any = "yes"
    with pytest.raises(ArgumentError, match=r"expected True, or a function .* 'yes'"):
        run_pipeline_sync(program(1), Add(), workers=0, progress=wrong)
