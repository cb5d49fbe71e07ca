"""Limits of this process: the memory of a block, and its time."""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import NamedTuple, TextIO

try:
    import resource
except ImportError:  # not on Windows
    resource = None

_STATM = "/proc/self/statm"

_MAX_SECONDS = 1e8  # of a timer; systems have no timers that are much longer

_INTERVAL = 0.5  # seconds; a pass may catch what interrupts it

_lifted: list[int] = []  # the soft limit before each `limit_memory` that is entered


@contextlib.contextmanager
def limit_memory(limit: int) -> Generator[None]:
    """Limit the growth of this process to a number of bytes while the block runs.

    Beyond that, allocating raises MemoryError, or fails in C. The limit applies to the
    address space of the process, so the process should do nothing else. It has no
    effect on systems that do not show a process its size (only Linux does).
    """
    size = _address_space()
    if size is None or resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = size + limit
    if soft != resource.RLIM_INFINITY:
        bound = min(bound, soft)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    _lifted.append(soft)
    try:
        yield
    finally:
        _lifted.pop()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def lift_memory_limit() -> Generator[None]:
    """Lift the limit in the block; memory that the block keeps is added to it."""
    before = _address_space() if _lifted else None
    if before is None or resource is None:
        yield
        return
    bound, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _lifted[-1]
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        bound += max(0, (_address_space() or before) - before)
        if most != resource.RLIM_INFINITY:
            bound = min(bound, most)
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))


def _address_space() -> int | None:
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class OverdueError(Exception):
    """A block is interrupted where it is."""


class Timer(NamedTuple):
    """An interval timer of this process.

    Attributes:
        name: Its name in `signal`, which has none on some systems.
        signal: The name of its signal.
        clock: What it measures, for this thread; the timer may be ahead of it.
    """

    name: str
    signal: str
    clock: Callable[[], float]


WALL_CLOCK = Timer("ITIMER_REAL", "SIGALRM", time.perf_counter)


def exit_after(seconds: float) -> AbstractContextManager[None]:
    """End this process if the block takes longer, in Python or in C.

    The timer takes a few microseconds; a thread that watches would take a hundred.
    There is no limit if `seconds` are infinite, outside of the main thread, on systems
    without interval timers, and where code in C has a handler of the signal.
    """
    return _alarm(seconds, WALL_CLOCK, exits=True)


def interrupt_after(
    seconds: float, timer: Timer = WALL_CLOCK
) -> AbstractContextManager[None]:
    """Raise OverdueError in a block that takes longer, where it runs Python.

    It is raised again after each half second, as the block may catch it. There is no
    limit where `exit_after` has none.
    """
    return _alarm(seconds, timer, exits=False)


@contextlib.contextmanager
def _alarm(seconds: float, timer: Timer, *, exits: bool) -> Generator[None]:
    """Set a timer for a block; that of the program goes on when the block ends."""
    if not _has_timer(seconds):
        yield
        return
    which, number = getattr(signal, timer.name), getattr(signal, timer.signal)
    before = signal.getsignal(number)
    if before is None:  # a handler of C could not be put back
        yield
        return
    began, theirs = timer.clock(), signal.getitimer(which)
    is_over = False

    def ring(_signal: int, _frame: object) -> None:
        if is_over:
            return
        left = began + seconds - timer.clock()
        if left > 0:
            signal.setitimer(which, _clamp(left), _INTERVAL)
        else:
            raise OverdueError("its time is over")

    try:
        try:
            signal.signal(number, signal.SIG_DFL if exits else ring)
            # Again and again: Python may not see a signal until the next one.
            signal.setitimer(which, _clamp(seconds), _INTERVAL)
            yield
        finally:
            is_over = True  # if it rings before this, the next time is an interval off
    finally:
        is_over = True
        signal.setitimer(which, 0)
        signal.signal(number, before)
        signal.setitimer(which, *_rest(theirs, timer.clock() - began))


def _has_timer(seconds: float) -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and seconds != math.inf and hasattr(signal, "setitimer")


def _rest(theirs: tuple[float, float], passed: float) -> tuple[float, float]:
    """Return a timer of the program as it is now; one that is due rings at once."""
    seconds, interval = theirs
    return (max(seconds - passed, 1e-6), interval) if seconds else (0.0, 0.0)


def _clamp(seconds: float) -> float:
    return min(max(seconds, 1e-6), _MAX_SECONDS)


@contextlib.contextmanager
def exit_with_traceback_after(seconds: float, file: TextIO) -> Generator[None]:
    """End this process, with a traceback in a file, if the block takes longer."""
    seconds = min(_clamp(seconds), threading.TIMEOUT_MAX)
    faulthandler.dump_traceback_later(seconds, exit=True, file=file)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
