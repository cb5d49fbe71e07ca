"""An executor of one's own: workers as plain processes of `multiprocessing`.

Where jobs run is for an executor to say (`parpass.runner.Executor`): processes on this
machine, on others, in a cluster. This one is as short as one can be that keeps all
promises: a worker that dies takes its job along and no other, and a job can be ended.

    python examples/own_executor.py
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from multiprocessing.connection import Connection
from typing import Any

import parpass
from parpass import relay
from parpass.runner import (
    Executor,
    JobCancelledError,
    JobLostError,
    NoWorkersError,
    begin_worker,
)

Run = Callable[[bytes], bytes]
_start = multiprocessing.get_context("spawn")


def serve(coordinator: int, connection: Connection) -> None:
    """Answer jobs, in a worker, until the other side is gone."""
    begin_worker(coordinator)
    with contextlib.suppress(EOFError, OSError):
        while True:
            run, job = connection.recv()
            try:
                answer: Any = True, run(job)
            except Exception as error:  # noqa: BLE001 -- raised by who waits for it
                answer = False, error
            connection.send(answer)


class Worker:
    """A process, and the thread here that hands it jobs."""

    def __init__(self, executor: ProcessExecutor) -> None:
        self.executor = executor
        self.answer: Future[bytes] | None = None  # of the job that it runs
        self.connection, theirs = _start.Pipe()
        self.process = _start.Process(
            target=serve, args=(os.getpid(), theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        """Run jobs until the process is gone."""
        while (posted := self.executor.next_job(self)) is not None:
            run, job, answer = posted
            try:
                self.connection.send((run, job))
                is_done, result = self.connection.recv()
            except (EOFError, OSError):
                self.process.join()
                code, number = self.process.exitcode, self.process.pid or 0
                settle(answer.set_exception, JobLostError(f"EXIT({code})", number))
                break
            settle(answer.set_result if is_done else answer.set_exception, result)
        self.connection.close()
        self.executor.has_gone(self)


class ProcessExecutor(Executor):
    """Some workers; see `parpass.runner.Executor` for what each method promises.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._jobs: deque[tuple[Run, bytes, Future[bytes]]] = deque()
        self._staff: set[Worker] = set()
        self._changed = threading.Condition(threading.RLock())
        self._closed = False

    @property
    def workers(self) -> int:
        """How many jobs run at once."""
        return self._workers

    @property
    def is_warm(self) -> bool:
        """Whether there are workers."""
        return bool(self._staff)

    def start(self, seconds: float = 60.0) -> None:
        """Start the workers that are missing."""
        with self._changed:
            while len(self._staff) < self._workers and not self._closed:
                self._staff.add(Worker(self))

    def submit(
        self,
        run: Run,
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        """Have a worker call `run(job)`."""
        answer: Future[bytes] = Future()
        with self._changed:
            self._jobs.append((run, job, answer))
            self.start()
            self._changed.notify()
        return answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job, and the worker that runs it."""
        with self._changed:
            self._jobs = deque(job for job in self._jobs if job[2] is not answer)
            for worker in [one for one in self._staff if one.answer is answer]:
                worker.process.kill()
        settle(answer.set_exception, JobCancelledError())

    def close(self) -> None:
        """Let the workers finish."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._staff)

    def next_job(self, worker: Worker) -> tuple[Run, bytes, Future[bytes]] | None:
        """Wait for a job for a worker; None says that there will be none."""
        with self._changed:
            worker.answer = None
            self._changed.wait_for(lambda: self._jobs or self._closed)
            if not self._jobs:
                return None
            posted = self._jobs.popleft()
            worker.answer = posted[2]
            return posted

    def has_gone(self, worker: Worker) -> None:
        """Take down that a worker is no more; another one does what is left."""
        with self._changed:
            self._staff.discard(worker)
            try:
                if self._jobs:
                    self.start()
            except OSError as error:  # there can be no process
                for _, _, answer in self._jobs:
                    settle(answer.set_exception, NoWorkersError("none", str(error)))
            self._changed.notify_all()


def settle(put: Callable[[Any], None], value: Any) -> None:
    """Give an answer, unless its job was ended."""
    with contextlib.suppress(InvalidStateError):
        put(value)


def main() -> None:
    """Compile a module of some functions on it."""
    x = relay.var("x", shape=(4,))
    functions = {f"f{at}": relay.Function((x,), relay.nn.relu(x)) for at in range(20)}
    mod = parpass.IRModule(functions)
    executor = ProcessExecutor(2)
    # So that even so little work is given to it.
    context = parpass.PassContext(config={"parpass.asking_workers_seconds": 0.0})
    with parpass.open_runner(executor=executor) as runner:
        after = runner.run_sync(mod, "InferType,FoldConstant", context=context)
        print(runner.last_report)
    executor.close()
    print(after["f0"])


if __name__ == "__main__":
    main()
