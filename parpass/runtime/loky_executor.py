"""The pool of processes, by loky; the only file that knows it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import loky

from parpass.runtime.executor import WorkersDiedError

# Constants are folded with one native thread everywhere, so that results are equal to
# the bit, and so that W workers of W threads each do not fight for W cores.
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class LokyExecutor:
    """A pool of loky's processes, made anew after it broke or was killed.

    Args:
        workers: How many processes.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: loky.ProcessPoolExecutor | None = None

    @property
    def is_warm(self) -> bool:
        """Whether the processes have been started."""
        return self._pool is not None

    def start(self) -> None:
        """Start the processes, if they are not running."""
        if self._pool is not None:
            return
        # One hash seed for all, so that nothing depends on which worker ran.
        seed = os.environ.get("PYTHONHASHSEED", "0")
        env = dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONHASHSEED": seed}
        self._pool = loky.ProcessPoolExecutor(self.workers, env=env, timeout=None)
        # loky starts its processes at the first submission, all at once.
        self._pool.submit(_load_worker)

    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]:
        """Have a process call `run(job)`."""
        self.start()
        assert self._pool is not None
        answer: Future[bytes] = Future()
        try:
            running = self._pool.submit(run, job)
        except BrokenProcessPool as error:
            answer.set_exception(WorkersDiedError(str(error)))
            return answer
        running.add_done_callback(lambda done: _pass_on(done, answer))
        return answer

    def kill(self) -> None:
        """Kill all processes now."""
        self._end(kill=True)

    def close(self) -> None:
        """End the processes."""
        self._end(kill=False)

    def _end(self, *, kill: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=kill)


def _load_worker() -> None:
    """Load what jobs need, while the coordinator is still packing the first."""
    importlib.import_module("parpass.runtime.worker")


def _pass_on(done: Future[bytes], answer: Future[bytes]) -> None:
    if done.cancelled():
        answer.set_exception(WorkersDiedError("the workers were killed"))
        return
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        answer.set_exception(WorkersDiedError(str(error)))
    elif error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(done.result())
