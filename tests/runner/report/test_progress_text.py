"""Progress as text: how far a stage is, and what is slow."""

from __future__ import annotations

from parpass.runner import Progress, WorkerActivity
from parpass.runner.report.progress_text import one_line, worker_lines

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
