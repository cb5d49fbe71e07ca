"""A run tells how far it is, where its caller waits, and is not affected by it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from parpass.errors import ProgressWarning, UnpicklablePassWarning
from parpass.runner import Progress, Runner, run_pipeline_sync, watching_progress
from parpass.transform import Sequential
from tests.report.waiting_passes import WaitOn
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import Fn, Program
from tests.support.toy.passes import Add, FailOn, Keep

PROGRAM = Program({f"f{at}": Fn((at,)) for at in range(6)})


class Watcher:
    """Notes what it is told, and lets the function go on that a run waits at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[Progress] = []
        self.threads: set[threading.Thread] = set()

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        self.threads.add(threading.current_thread())
        for one in progress.workers:
            if (one.pass_name, one.function) == ("WaitOn", "f3"):
                self.path.touch()


class Unsendable(Add):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.slow
def test_each_part_of_a_stage_that_workers_cannot_be_sent_whole_counts_once(
    runner: Runner, tmp_path: Path
):
    """All three passes, the first; the others, the second; and the third."""
    watcher, passes = Watcher(tmp_path / "go"), [Add(1), Unsendable(), Add(1)]
    with pytest.warns(UnpicklablePassWarning, match="lock"):
        runner.run_sync(PROGRAM, Sequential(passes), context=pooled(), progress=watcher)
    assert watcher.told[-1].stage == 5


def waiting(watcher: Watcher) -> Sequential:
    return Sequential([Add(0), WaitOn(3, str(watcher.path))])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["blocking", "trio", "asyncio"])
def test_the_function_that_a_worker_is_at_is_told_while_it_runs(
    runner: Runner, tmp_path: Path, how: str
):
    watcher = Watcher(tmp_path / "go")
    passes = waiting(watcher)

    async def awaited() -> Program:
        return await runner.run(PROGRAM, passes, context=pooled(), progress=watcher)

    def blocking() -> Program:
        return runner.run_sync(PROGRAM, passes, context=pooled(), progress=watcher)

    ways: dict[str, Callable[[], Program]] = {
        "blocking": blocking,
        "trio": lambda: trio.run(awaited),
        "asyncio": lambda: asyncio.run(awaited()),
    }
    made = ways[how]()
    assert made.functions == passes(PROGRAM).functions
    at_it = [
        one for told in watcher.told for one in told.workers if one.function == "f3"
    ]
    assert all(one.worker is not None for one in at_it)
    last = watcher.told[-1]
    assert [told.is_last for told in watcher.told].index(True) == len(watcher.told) - 1
    assert (last.done, last.functions, last.workers) == (6, 6, ())
    assert last.passes == ("Add", "WaitOn")
    assert last.longest is not None
    assert last.longest[0] == "f3"
    if how != "blocking":
        assert watcher.threads == {threading.current_thread()}


@pytest.mark.slow
def test_without_workers_too_and_slow_ones_are_named(tmp_path: Path):
    watcher = Watcher(tmp_path / "go")
    slow: set[str | None] = set()

    def until_slow(progress: Progress) -> None:
        watcher.told.append(progress)
        slow.update(one.function for one in progress.slow)
        if slow:
            watcher.path.touch()

    run_pipeline_sync(PROGRAM, waiting(watcher), workers=0, progress=until_slow)
    assert slow == {"f3"}
    at_it = {one[:3] for told in watcher.told for one in told.workers if told.slow}
    assert at_it == {(None, "WaitOn", "f3")}
    assert watcher.told[-1][:4] == (2, ("WaitOn",), 6, 6)


def test_a_run_that_is_short_or_fails_tells_once_where_it_ended():
    told: list[Progress] = []
    with watching_progress(told.append):
        run_pipeline_sync(PROGRAM, [Add(), Keep()], workers=0)
    assert [(one.stage, one.passes, one.functions) for one in told] == [
        (2, ("Keep",), 0)
    ]
    with pytest.raises(ValueError, match="met 2"):
        run_pipeline_sync(PROGRAM, FailOn(2), workers=0, progress=told.append)
    assert (told[-1].done, told[-1].functions, told[-1].is_last) == (2, 6, True)
    run_pipeline_sync(PROGRAM, Add(), workers=0)
    assert len(told) == 2  # nobody waits any more


def test_a_callback_that_raises_is_one_warning_and_changes_nothing():
    def broken(_: Progress) -> None:
        raise KeyError("broken")

    with pytest.warns(ProgressWarning, match="KeyError: 'broken'") as caught:
        made = run_pipeline_sync(PROGRAM, Add(), workers=0, progress=broken)
    assert len(caught) == 1
    assert made.functions == Add()(PROGRAM).functions


def test_a_run_whose_progress_nobody_asked_for_starts_no_thread(
    monkeypatch: pytest.MonkeyPatch,
):
    ours, start = threading.current_thread(), threading.Thread.start
    started: list[threading.Thread] = []

    def start_and_note(thread: threading.Thread) -> None:
        if threading.current_thread() is ours:  # not those of pools, which end by time
            started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_and_note)
    run_pipeline_sync(PROGRAM, Add(), workers=0)
    assert not started
    run_pipeline_sync(PROGRAM, Add(), workers=0, progress=lambda _: None)
    assert [one.is_alive() for one in started] == [False]
