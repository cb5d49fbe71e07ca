"""Pools that are reused by calls of `run_pipeline`, since starting one takes long.

A call that needs workers leases a pool; concurrent calls share it. A pool without a
lease is closed after `IDLE_SECONDS`, by a thread that lasts as long as there are such
pools, by `close_idle`, or at exit. A pool is reused only if new processes would inherit
the same state as its own.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING
from weakref import WeakSet

from parpass.fork_safety import ForkSafeLock, fork_lock
from parpass.runner.executor import (
    DEFAULT_START_SECONDS,
    DirectExecutor,
    NoWorkersError,
)
from parpass.runner.placement import StartupAmortizer
from parpass.runner.pool.lifecycle import (
    inherited_state,
    register_lifecycle,
    run_in_thread,
)

if TYPE_CHECKING:
    from parpass.runner.pool.loky_executor import FairShare, LokyExecutor

IDLE_SECONDS = 10.0  # as loky's reusable executor


class LeasedExecutor(DirectExecutor):
    """The executor of one call: leases a pool at its first use.

    Args:
        workers: The maximum number of processes.

    Attributes:
        isolated: Whether it runs untrusted passes. Such calls have separate pools, so
            that what passes do to a process does not affect other calls.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.isolated = False
        self._used: tuple[_CachedPool, FairShare] | None = None

    @property
    def is_used(self) -> bool:
        """Whether it has leased a pool."""
        return self._used is not None

    def amortizer(self) -> StartupAmortizer:
        """Return the start-up amortizer, which consecutive calls share."""
        return POOLS.amortizer()

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready, in the leased pool or the one that would be."""
        if self._used is None:
            return POOLS.is_warm(self)
        return self._used[1].is_warm

    def start(self, seconds: float = DEFAULT_START_SECONDS) -> None:
        """Start all processes; see `Executor.start`."""
        self._share.start(seconds)

    def submit(
        self, run: Callable[[bytes], bytes], job: bytes, seconds: float = math.inf
    ) -> Future[bytes]:
        """Submit a call of `run(job)`; see `Executor.submit`."""
        return self._share.submit(run, job, seconds)

    def wake_worker(self) -> None:
        """Announce a job: an idle worker spins until it arrives."""
        self._share.wake_worker()

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed."""
        return self._share.submit_and_wait(run, job)

    def withdraw(self, answer: Future[bytes]) -> bool:
        """Remove a job from the queue; return False if it is not in it."""
        return self._share.withdraw(answer)

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """Cancel a job."""
        self._share.end(answer, at_once=at_once)

    def kill(self) -> None:
        """Kill all processes of the pool, including those that other calls use."""
        self._share.kill()

    def close(self) -> None:
        """End the lease; the pool is kept for other calls."""
        used, self._used = self._used, None
        if used is not None:
            POOLS.release(self, used[0])

    @property
    def _share(self) -> FairShare:
        used = self._used
        if used is None:
            kept = POOLS.acquire(self)
            self._used = used = kept, kept.executor.share()
        return used[1]


class _CachedPool:
    """A pool that is kept between calls.

    Attributes:
        executor: The executor of the pool.
        leases: The current leases; weak, since Ctrl-C may lose one while it is
            released.
        idle_since: When the last lease ended, by `time.monotonic`.
    """

    def __init__(self, workers: int) -> None:
        try:
            with fork_lock:
                # Imported late: it takes longer than most runs.
                from parpass.runner.pool.loky_executor import LokyExecutor
        except RuntimeError as error:  # at exit
            raise NoWorkersError("none", str(error)) from error

        self.executor = LokyExecutor(workers)
        self.leases: WeakSet[LeasedExecutor] = WeakSet()
        self.idle_since = time.monotonic()

    def matches_process(self) -> bool:
        """Return whether new processes would inherit the same state as its own."""
        given = self.executor.inherited_state
        return given is None or given == inherited_state()


_Key = tuple[int, bool]  # the number of workers, and whether runs are isolated


class ReusablePools:
    """The pools that this process keeps: all that are leased, and one that is idle."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._kept: dict[_Key, _CachedPool] = {}
        self._closing_pools: list[LokyExecutor] = []
        self._reaper: _IdleReaper | None = None
        self._amortizer = StartupAmortizer()
        self._amortizer_used = -math.inf
        self._exiting = False
        register_lifecycle(self)

    def amortizer(self) -> StartupAmortizer:
        """Return the start-up amortizer of consecutive calls.

        It is reset after `IDLE_SECONDS` without a call, when a pool would have been
        closed.
        """
        now = time.monotonic()
        if now > self._amortizer_used + IDLE_SECONDS:
            self._amortizer = StartupAmortizer()
        self._amortizer_used = now
        return self._amortizer

    def is_warm(self, lease: LeasedExecutor) -> bool:
        """Return whether the pool that a lease would get has a ready process."""
        with self._lock:
            kept = self._kept.get((lease.workers, lease.isolated))
            if kept is None or not kept.executor.is_warm:
                return False
            return kept.matches_process()  # the dearest last

    def acquire(self, lease: LeasedExecutor) -> _CachedPool:
        """Return the pool for a lease; created if none matches."""
        key = lease.workers, lease.isolated
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or not kept.matches_process():
                self._drop(key)
                kept = self._kept[key] = _CachedPool(lease.workers)
            kept.leases.add(lease)
            return kept

    def release(self, lease: LeasedExecutor, kept: _CachedPool) -> None:
        """End a lease; close the pool if it cannot be kept."""
        executor = kept.executor
        with self._lock:
            kept.leases.discard(lease)
            if kept.leases:
                return
            kept.idle_since = time.monotonic()
            key = lease.workers, lease.isolated
            is_kept = self._kept.get(key) is kept and self._ensure_reaper(executor)
            if is_kept:
                for other in [one for one in self._kept if one != key]:
                    self._drop(other)
            elif self._kept.get(key) is kept:
                del self._kept[key]
        if not is_kept:
            executor.close()

    def close_idle(self) -> None:
        """Close the pools without a lease, and wait until their processes end."""
        with self._lock:
            for key in list(self._kept):
                self._drop(key)
            ending, watch = list(self._closing_pools), self._reaper
            if self._kept:  # pools with a lease
                watch = None
            elif watch is not None:
                self._reaper = None
                watch.wake.set()
        for executor in ending:
            executor.close()
        if watch is not None:
            watch.join()

    def after_fork_in_child(self) -> None:
        """Release all pools, which belong to the parent of this process."""
        self._kept, self._closing_pools, self._reaper = {}, [], None

    def at_program_exit(self) -> None:
        """Keep no more pools; existing ones have their own exit hooks."""
        self._exiting = True
        self._kept = {}

    def _drop(self, key: _Key) -> None:
        """Keep a pool no longer, and close it if it has no lease.

        Called with the lock held. A pool with a lease is closed when its last lease
        ends.
        """
        kept = self._kept.get(key)
        if kept is None or kept.leases:
            return
        del self._kept[key]
        if kept.executor.has_processes:
            self._closing_pools.append(kept.executor)
            run_in_thread(lambda: self._end(kept.executor))

    def _end(self, executor: LokyExecutor) -> None:
        executor.close()
        with self._lock, contextlib.suppress(ValueError):
            self._closing_pools.remove(executor)

    def _ensure_reaper(self, executor: LokyExecutor) -> bool:
        """Start the thread that closes idle pools; return False if it cannot be."""
        if self._exiting:
            return False
        if self._reaper is not None or not executor.has_processes:
            return True
        self._reaper = watch = _IdleReaper(self._reap_idle)
        try:
            watch.start()
        except RuntimeError:  # no thread can be started
            self._reaper = None
        return self._reaper is not None

    def _reap_idle(self, watch: _IdleReaper) -> None:
        while True:
            with self._lock:
                if self._reaper is not watch:
                    return
                now = time.monotonic()
                for key, kept in list(self._kept.items()):
                    if now >= kept.idle_since + IDLE_SECONDS:
                        self._drop(key)
                if not self._kept:
                    self._reaper = None
                    return
                since = [
                    one.idle_since for one in self._kept.values() if not one.leases
                ]
            watch.wake.wait(max(0.0, min(since, default=now) + IDLE_SECONDS - now))


class _IdleReaper(threading.Thread):
    """The thread that closes pools after `IDLE_SECONDS` without a lease.

    Attributes:
        wake: Set to make the thread check whether it is still needed.
    """

    def __init__(self, reap_idle: Callable[[_IdleReaper], None]) -> None:
        super().__init__(name="parpass-idle-workers", daemon=True)
        self.wake = threading.Event()
        self._reap_idle = reap_idle

    def run(self) -> None:
        """Close idle pools until there are none."""
        self._reap_idle(self)


POOLS = ReusablePools()
