"""The executors of sessions: new ones, leased ones, and none, with a warning why."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from parpass.errors import Hint, HintedMessage, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.fork_safety import fork_lock
from parpass.runner.cores import UNCHECKED_WORKERS, supports_workers, usable_cores

if TYPE_CHECKING:
    from parpass.runner.pool.loky_executor import LokyExecutor
    from parpass.runner.pool.reusable import LeasedExecutor

ValueT = TypeVar("ValueT")

_MAX_WORKERS_PER_CORE = 4  # workers at most


def new_executor(workers: int | None) -> LokyExecutor | None:
    """Return a pool; None for no workers, or with a warning where there can be none."""

    def new(workers: int) -> LokyExecutor:
        with fork_lock:
            # Not before: a program that is at its end cannot load it.
            from parpass.runner.pool.loky_executor import LokyExecutor

        return LokyExecutor(workers)

    return _create_or_warn(workers, new)


def lease_executor(workers: int | None) -> LeasedExecutor | None:
    """Return a lease of a pool that outlives the call; None as for `new_executor`."""

    def new(workers: int) -> LeasedExecutor:
        with fork_lock:
            from parpass.runner.pool.reusable import LeasedExecutor  # as above

        return LeasedExecutor(workers)

    return _create_or_warn(workers, new)


def _create_or_warn(workers: int | None, new: Callable[[int], ValueT]) -> ValueT | None:
    if workers == 0:
        return None
    if not supports_workers():
        warn(
            HintedMessage(
                "this system has no processes that parpass can watch over, which Linux "
                "and macOS have, so all is run in this one; ",
                Hint.REQUEST_SERIAL,
            ),
            SlowerRunWarning,
        )
        return None
    try:
        return new(usable_cores() if workers is None else workers)
    except RuntimeError as error:
        warn(
            f"no processes can be started ({error}), so all is run in this one; run a "
            "pipeline before the program is at its end",
            SlowerRunWarning,
        )
        return None


def can_start_processes() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warn(
        "a daemon process of multiprocessing may have no children, so all is run in "
        "this one; with daemon=False it uses every core, and the program that started "
        "it waits for its end",
        SlowerRunWarning,
    )
    return False


def clamp_workers(workers: int) -> int:
    """Return how many processes to start at most, where so many are asked for."""
    most = max(UNCHECKED_WORKERS, _MAX_WORKERS_PER_CORE * usable_cores())
    if workers > most:
        warn(
            HintedMessage(
                f"{workers} workers were asked for, and {most} will be used: more than "
                f"{_MAX_WORKERS_PER_CORE} for each core are slower, not faster; ",
                Hint.WORKER_PER_CORE,
            ),
            SlowerRunWarning,
        )
    return min(workers, most)
