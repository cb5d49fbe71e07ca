from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future

import pytest

from parpass.runner import open_runner
from parpass.spi import Status
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import pooled
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
            while not any(one.done() for one in self._answers):
                threading.Event().wait(0.001)
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
