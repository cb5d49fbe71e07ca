"""Pools that are reused by calls of `run_pipeline`, since starting one takes long.

Each call leases a pool; concurrent calls share it. A pool without a lease is closed
after `IDLE_SECONDS`, by a thread that lasts as long as there are such pools, by
`close_idle`, or at exit. One that never started a process costs nothing to keep, and
is there for the next small call.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from parpass.runner.cost_model import StartupAmortizer
from parpass.runner.pool.lifecycle import (
    end_idle,
    register_lifecycle,
    run_in_thread,
)
from parpass.runner.pool.worker_pool import Pool

IDLE_SECONDS = 10.0  # as loky's reusable executor

_Key = tuple[int, bool]  # the number of workers, and whether runs are isolated


class _KeptPool:
    """A pool, and those that use it.

    Attributes:
        leases: These. Weak, since Ctrl-C may lose one while it is released.
        idle_since: When the last lease ended, by `time.monotonic`.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.leases: WeakSet[Any] = WeakSet()
        self.idle_since = time.monotonic()


class ReusablePools:
    """The pools that this process keeps: all that are leased, and one that is idle."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[_Key, _KeptPool] = {}
        self._closing: list[threading.Thread] = []  # each closes a pool
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

    def acquire(self, workers: int, lease: object, *, isolated: bool = False) -> Pool:
        """Return a pool, created if there is none; it is leased until `release`.

        Args:
            workers: The maximum number of processes.
            lease: What holds the lease; if it is garbage, the lease is over.
            isolated: Whether untrusted passes run in it. Such calls have separate
                pools, so that what passes do to a process does not affect other calls.
        """
        key = workers, isolated
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _KeptPool(Pool(workers))
            kept.leases.add(lease)
            return kept.pool

    def release(self, lease: object, pool: Pool) -> None:
        """End a lease; close the pool if it cannot be kept."""
        with self._lock:
            kept = next((one for one in self._kept.values() if one.pool is pool), None)
            if kept is not None:
                kept.leases.discard(lease)
                if kept.leases:
                    return
                kept.idle_since = time.monotonic()
                if pool.is_unused:
                    return
                is_kept = self._can_keep(pool)
                for key, other in list(self._kept.items()):
                    if other is kept and not is_kept:
                        del self._kept[key]
                    elif other is not kept and is_kept:
                        self._drop(key)
                if is_kept:
                    return
        pool.close()

    def close_idle(self) -> None:
        """Close the pools without a lease, and wait until their processes end.

        Idle event loops end, too.
        """
        with self._lock:
            for key in list(self._kept):
                self._drop(key)
            closing, watch = self._closing, self._reaper
            if self._kept:  # pools with a lease
                watch = None
            elif watch is not None:
                self._reaper = None
                watch.wake.set()
        for thread in closing:
            thread.join()
        if watch is not None:
            watch.join()
        end_idle()

    def after_fork_in_child(self) -> None:
        """Release all pools, which belong to the parent of this process."""
        self._lock = threading.RLock()  # a thread of the parent may hold the old one
        self._kept, self._closing, self._reaper = {}, [], None

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
        pool = kept.pool
        thread = run_in_thread(pool.close) if pool.has_processes else None
        closing = [one for one in self._closing if one.is_alive()]
        self._closing = closing if thread is None else [*closing, thread]

    def _can_keep(self, pool: Pool) -> bool:
        """Return whether there is a thread that will close the pool; start it."""
        if self._exiting or not pool.has_processes:
            return False
        if self._reaper is not None:
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
        self._reap_idle(self)


POOLS = ReusablePools()
