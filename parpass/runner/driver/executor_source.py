"""The source of workers of a runner: an executor, its own pool, or one of calls."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from parpass.entry_points import open_executor
from parpass.errors import (
    ArgumentError,
    Hint,
    HintedMessage,
    RuntimeUseError,
    SlowerRunWarning,
)
from parpass.errors.warning import warn
from parpass.runner.cores import supports_workers, usable_cores
from parpass.runner.cost_model import StartupAmortizer
from parpass.runner.executor import Executor
from parpass.runner.pool.lifecycle import end_idle, run_in_thread
from parpass.runner.run_options import RunnerOptions
from parpass.transform.capture.recorder import inside_function_pass

if TYPE_CHECKING:
    from parpass.runner.pool.reusable import ReusablePools
    from parpass.runner.pool.worker_pool import Pool


class ExecutorSource:
    """Gives the runs of a runner their executor, and closes it with the runner.

    Args:
        options: How many processes there are, or where jobs run instead: the URL of an
            executor is opened here.
        reuse_pool: Whether the processes are kept for other calls when this is closed,
            and may be kept ones themselves; else they are this runner's own.

    Attributes:
        amortizer: What the runner has lost by not having started its workers.
    """

    def __init__(self, options: RunnerOptions, *, reuse_pool: bool) -> None:
        executor = options.executor
        if executor is not None and not supports_workers():
            raise RuntimeUseError(
                "executors need Linux or macOS, and this system has no file locks; "
                "drop executor=, and set workers=0"
            )
        self.amortizer = StartupAmortizer()
        self._pool: Pool | None = None  # its own, or the one that it has a lease of
        self._reusable: tuple[ReusablePools, int] | None = None
        if executor is None and reuse_pool:
            self._reusable = _reusable_pools(options.workers)
            if self._reusable is not None:
                self.amortizer = self._reusable[0].amortizer()
        elif executor is None:
            self._pool = new_pool(options.workers)
        self._is_named = isinstance(executor, str)
        with contextlib.ExitStack() as stack:
            if not reuse_pool:
                stack.callback(end_idle)
            if self._pool is not None:
                stack.callback(self._pool.close)
            if isinstance(executor, str):
                executor = stack.enter_context(open_executor(executor))
            self._given = _check_executor(executor)
            self._owned = stack.pop_all()
        self._is_closed = False

    def executor(self, *, isolated: bool) -> Executor | None:
        """Return the executor of a run that begins, None if it has no workers.

        Raises:
            RuntimeUseError: This is closed.
        """
        if self._is_closed:
            raise RuntimeUseError.closed("runner")
        # The workers are all at work when a pass body in one of them comes here.
        if inside_function_pass():
            return None
        if self._pool is None and self._reusable is None:
            return self._given
        if not _can_start_processes():
            return None
        if self._pool is None and self._reusable is not None:
            pools, workers = self._reusable
            self._pool = pools.acquire(workers, self, isolated=isolated)
        return self._pool

    @property
    def is_kept(self) -> bool:
        """Whether the executor is there for other runs of the runner."""
        return self._reusable is None

    @property
    def has_processes(self) -> bool:
        """Whether to close this may take as long as processes take to end."""
        pool = self._pool
        return self._is_named or (pool is not None and pool.has_processes)

    def close(self) -> None:
        """End the processes."""
        self._is_closed = True
        self._end_lease()
        self._owned.close()

    def close_nowait(self) -> None:
        """End the processes of a runner that was garbage-collected; do not wait."""
        was_closed, self._is_closed = self._is_closed, True
        self._end_lease()
        is_owner = self._is_named or (self._reusable is None and self._pool is not None)
        if is_owner and not was_closed:
            run_in_thread(self._owned.close)

    def _end_lease(self) -> None:
        if self._reusable is None:
            return
        leased, self._pool = self._pool, None
        if leased is not None:
            self._reusable[0].release(self, leased)


def _check_executor(executor: object) -> Executor | None:
    if executor is None or isinstance(executor, Executor):
        return executor
    raise ArgumentError(
        "expected an instance of a subclass of parpass.runner.Executor for executor, "
        f"got {type(executor).__qualname__}; derive its class from it, as "
        "examples/own_executor.py does"
    )


def new_pool(workers: int | None) -> Pool | None:
    """Return a pool; None for no workers, or with a warning where there can be none."""
    found = _reusable_pools(workers)
    if found is None:
        return None
    from parpass.runner.pool.worker_pool import Pool  # loaded by now

    return Pool(found[1])


def _reusable_pools(workers: int | None) -> tuple[ReusablePools, int] | None:
    """Return the pools that outlive a call, and how many workers one is to have.

    None is returned as by `new_pool`.
    """
    if workers == 0:
        return None
    if not supports_workers():
        warn(
            HintedMessage(
                "workers need Linux or macOS, so everything runs in this process; ",
                Hint.REQUEST_SERIAL,
            ),
            SlowerRunWarning,
        )
        return None
    try:
        # Not before: a program that is at its end cannot load it.
        from parpass.runner.pool.reusable import POOLS
    except RuntimeError as error:
        warn(
            f"no processes can be started ({error}), so everything runs in this one; "
            "run pipelines before the program exits",
            SlowerRunWarning,
        )
        return None
    return POOLS, usable_cores() if workers is None else workers


def _can_start_processes() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warn(
        "a daemon process of multiprocessing cannot have children, so everything runs "
        "in this process; start it with daemon=False to use every core (its parent "
        "then waits for it)",
        SlowerRunWarning,
    )
    return False
