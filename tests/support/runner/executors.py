"""An executor in a thread: it runs jobs in any order, and its worker dies where told.

`WorkerDeath`, raised by a pass, is a death: the job that ran is lost.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError

from parpass.runner import Executor, JobCancelledError, JobLostError
from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.ipc.messages import Job
from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.runner.ipc.status_board import Phase, StatusBoard
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

Work = tuple[Callable[[bytes], bytes], bytes, "Future[bytes]"]


class WorkerDeath(AbandonedError):  # noqa: N818 -- it stands for one
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


class ThreadExecutor(Executor):
    """Runs jobs one by one, in an order drawn from a seed.

    Args:
        workers: How many workers it says that it has.
        seed: Of the order.
        dies_at_once: Whether workers die before they begin.
        dies_with_host: Whether a worker that dies does so with its host.
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
        dies_with_host: bool = False,
        deaths: int = 0,
        log: list[str] | None = None,
    ) -> None:
        self._workers = workers
        self._is_warm = False
        self.log: list[str] = [] if log is None else log
        self._random = random.Random(seed)
        self._dies_at_once = dies_at_once
        self._dies_with_host = dies_with_host
        self._deaths = deaths
        self._pending: list[Work] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    @property
    def workers(self) -> int:
        return self._workers

    @property
    def is_warm(self) -> bool:
        return self._is_warm

    def start(self, seconds: float = 0.0) -> None:
        with self._changed:
            self.log.append("start")
            self._begin()

    def _begin(self) -> None:
        self._is_warm = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = 0.0,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        answer: Future[bytes] = Future()
        with self._changed:
            self._begin()
            self.log.append("submit")
            self._pending.append((run, job, answer))
            self._changed.notify()
        return answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        self.log.append("end")
        with self._changed:
            self._pending = [work for work in self._pending if work[2] is not answer]
        _fail(answer, JobCancelledError())

    def close(self) -> None:
        self.log.append("close")
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._ended:
                    self._changed.wait()
                if not self._pending:
                    return
                work = self._pending.pop(self._random.randrange(len(self._pending)))
            self._run(*work)

    def _run(
        self, run: Callable[[bytes], bytes], job: bytes, answer: Future[bytes]
    ) -> None:
        try:
            if self._dies_at_once:
                raise WorkerDeath
            self._die_perhaps()
            result = run(job)
            self._die_perhaps()
        except WorkerDeath:
            with_host = self._dies_with_host
            lost = JobLostError("SIGKILL(-9)", os.getpid(), host_died=with_host)
            _fail(answer, lost)
            _wait_until_seen(os.fsdecode(Job.decoded(job).folder))
        except BaseException as error:  # noqa: BLE001 -- as a pool hands it on
            _fail(answer, error)
        else:
            with contextlib.suppress(InvalidStateError):
                answer.set_result(result)

    def _die_perhaps(self) -> None:
        if self._deaths and self._random.random() < 1 / 4:
            self._deaths -= 1
            raise WorkerDeath


def _wait_until_seen(folder: str) -> None:
    """Wait until it was seen what the dead worker was at: the next has its number."""
    with contextlib.suppress(OSError):  # the run is over
        notes = StatusBoard(SharedDirectory(folder))
        while any(work.phase != Phase.START for work in notes.read()):
            threading.Event().wait(0.001)


def _fail(answer: Future[bytes], error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        answer.set_exception(error)
