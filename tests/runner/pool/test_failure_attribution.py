from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, cast

import pytest

from parpass.runner import Runner, open_runner
from parpass.runner.cost_model import BYTES_PER_NODE, COST_MODEL
from parpass.runner.pool import stage_writer
from parpass.runner.pool.worker_pool import Pool
from parpass.spi import Status
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.runner.pool.hanging import FailOnceOpened, HangsWhenDecoded
from tests.support.runner.costs import forget_costs
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import new_pipe, pooled, run_pooled
from tests.support.toy.ir import Fn, Program, program, values_of

RELEASED = {1: threading.Event(), 2: threading.Event()}
LIMIT = 0.1


class WaitUntilReleased(FunctionPass):
    pass_info = PassInfo(0, "WaitUntilReleased")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        RELEASED[func.values[0]].wait(10.0)
        return Fn((0,))


class FinishesAtTheLastMoment(ThreadExecutor):
    """Its worker finishes the first overdue job just before that is cancelled.

    Attributes:
        overdue: The functions, by index, that it was asked for tracebacks of.
    """

    def __init__(self) -> None:
        super().__init__()
        self.overdue: list[int] = []
        self._answers: list[Future[bytes]] = []

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = 0.0,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        answer = super().submit(run, job, seconds, owner=owner)
        self._answers.append(answer)
        return answer

    def dump_tracebacks(self, works: Collection[Status]) -> dict[str, str]:
        self.overdue += [work.function for work in works]
        if len(self.overdue) == 1 and works:
            RELEASED[self.overdue[0] + 1].set()
            wait(self._answers, return_when=FIRST_COMPLETED)
        return {}

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        super().end(answer, at_once=at_once)
        for event in RELEASED.values() if len(self.overdue) > 1 else ():
            event.set()


@pytest.mark.slow
def test_a_worker_that_finished_at_the_last_moment_is_watched_as_before():
    executor = FinishesAtTheLastMoment()
    with open_runner(executor=executor) as runner:
        after = runner.run_sync(
            program(1, 2),
            WaitUntilReleased(),
            context=pooled(),
            function_timeout=LIMIT,
            on_failure="skip",
        )
    executor.close()
    assert values_of(after) == values_of(program(1, 2))
    assert sorted(executor.overdue) == [0, 1]


class WaitForFile(FunctionPass):
    pass_info = PassInfo(0, "WaitForFile")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with (self.folder / str(func.values[0])).open():  # a pipe, with a writer
            return Fn((0,))


class EndsJustBefore(Pool):
    """A pool whose worker finishes the first overdue job once that is to be ended."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1)
        self._folder = folder
        self.ended: list[bool] = []

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> bool:
        if not self.ended:
            (self._folder / "1").open("w").close()
            wait([answer])
        self.ended.append(super().end(answer, at_once=at_once))
        return self.ended[-1]


@pytest.mark.slow
def test_a_worker_that_finishes_as_its_job_is_ended_is_watched_as_before(
    tmp_path: Path,
):
    """The first function waits until it is to be ended, the second one for ever."""
    for name in "12":
        os.mkfifo(tmp_path / name)
    executor = EndsJustBefore(tmp_path)
    with open_runner(executor=executor) as runner:
        after = runner.run_sync(
            program(1, 2),
            WaitForFile(tmp_path),
            context=pooled(),
            function_timeout=10 * LIMIT,
            on_failure="skip",
        )
    executor.close()
    assert values_of(after) == {"f0": (1,), "f1": (2,)}
    assert executor.ended == [False, True]


@pytest.fixture
def _unknown_costs() -> Iterator[None]:
    forget_costs()
    yield
    forget_costs()


@pytest.mark.slow
@pytest.mark.usefixtures("_unknown_costs")
def test_what_hangs_beyond_the_end_before_its_pass_begins_does_not_hang_the_run(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    """The first function and the last are one job, which is not beyond the end."""
    monkeypatch.setattr(stage_writer, "_FIRST_ENCODE_SECONDS", 60.0)
    pipe = str(new_pipe(tmp_path))
    step, odd = FailOnceOpened(pipe), cast("Any", HangsWhenDecoded(pipe, os.getpid()))
    COST_MODEL.update([step], [2.5e-7 * BYTES_PER_NODE], 1)
    large = Fn(tuple(range(100_000)))
    with pytest.raises(ValueError, match="too many"):
        run_pooled(
            runner, step, Program({"f0": Fn((0,)), "f1": large, "f2": Fn((odd,))})
        )
