"""An executor in a thread: it runs jobs in any order, and its worker dies where told.

`WorkerDeath`, raised by a pass, is a death: all jobs in flight are lost.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import Future

from parpass.runtime.executor import WorkersDiedError, WorkersKilledError
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy_ir import Fn, Program

Work = tuple[Callable[[bytes], bytes], bytes, "Future[bytes]"]


class WorkerDeath(BaseException):
    """Stands for the end of the process."""


class Die(FunctionPass):
    """Ends its worker on functions that have a number."""

    pass_info = PassInfo(0, "Die")

    def __init__(self, number: int) -> None:
        self.number = number

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values:
            raise WorkerDeath
        return func


class ThreadExecutor:
    """Runs jobs one by one, in an order drawn from a seed.

    Args:
        workers: How many workers it says that it has.
        seed: Of the order.
        dies_at_once: Whether workers die before they begin.
        deaths: How often, besides, its worker dies at random: before it begins with a
            job, or before the job's result is sent.
        log: Gets a word for each thing that is asked of it.
    """

    def __init__(
        self,
        workers: int = 2,
        seed: int = 0,
        *,
        dies_at_once: bool = False,
        deaths: int = 0,
        log: list[str] | None = None,
    ) -> None:
        self.workers = workers
        self.is_warm = False
        self.log: list[str] = [] if log is None else log
        self._random = random.Random(seed)
        self._dies_at_once = dies_at_once
        self._deaths = deaths
        self._pending: list[Work] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    def start(self) -> None:
        with self._changed:
            self.log.append("start")
            self.is_warm = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]:
        answer: Future[bytes] = Future()
        with self._changed:
            if not self.is_warm:
                answer.set_exception(WorkersKilledError())
            else:
                self.log.append("submit")
                self._pending.append((run, job, answer))
                self._changed.notify()
        return answer

    def alone(self) -> ThreadExecutor:
        self.log.append("alone")
        return ThreadExecutor(1, dies_at_once=self._dies_at_once, log=self.log)

    def kill(self) -> None:
        self.log.append("kill")
        self._lose_all(WorkersKilledError())

    def close(self) -> None:
        self.log.append("close")
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _lose_all(self, error: Exception) -> None:
        with self._changed:
            self.is_warm = False
            lost, self._pending = self._pending, []
        for _, _, answer in lost:
            answer.set_exception(error)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._ended:
                    self._changed.wait()
                if not self._pending:
                    return
                at = self._random.randrange(len(self._pending))
                work = self._pending[at]
            self._run(work)

    def _run(self, work: Work) -> None:
        run, job, answer = work
        try:
            if self._dies_at_once:
                raise WorkerDeath
            self._die_perhaps()
            result = run(job)
            self._die_perhaps()
        except WorkerDeath:
            self._lose_all(WorkersDiedError("exit codes: {SIGKILL(-9)}"))
            return
        except BaseException as error:  # noqa: BLE001 -- as a pool hands it on
            self._take_out(work)
            answer.set_exception(error)
        else:
            self._take_out(work)
            answer.set_result(result)

    def _die_perhaps(self) -> None:
        if self._deaths and self._random.random() < 1 / 4:
            self._deaths -= 1
            raise WorkerDeath

    def _take_out(self, work: Work) -> None:
        with self._changed:
            if work in self._pending:
                self._pending.remove(work)
