"""Holding passes to their budgets in this process, which is the command's own."""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import threading
from collections.abc import Generator

from parpass.runner.stage.memory_guard import memory_guard
from parpass.transform.budget import Budget

_AGAIN = 0.5  # seconds; a pass may catch what interrupts it
_GRACE = 2.0  # seconds for Python code to be interrupted; C code is not


class OverdueError(Exception):
    """A pass is interrupted where it is; told as a FunctionTimeoutError."""


@contextlib.contextmanager
def interrupting(budget: Budget) -> Generator[None]:
    """Interrupt what takes too long in Python, and refuse memory beyond the limit."""
    with contextlib.ExitStack() as stack:
        if budget.memory is not None:
            stack.enter_context(memory_guard(budget.memory))
        if budget.seconds is not None and _can_be_interrupted():
            stack.enter_context(_alarm(budget.seconds))
        yield


@contextlib.contextmanager
def interrupting_or_ending(budget: Budget) -> Generator[None]:
    """Do so, and end the process, with exit code 1, if it takes too long in C."""
    if budget.seconds is not None and sys.__stderr__ is not None:
        seconds = budget.seconds + _GRACE
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
    try:
        with interrupting(budget):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _can_be_interrupted() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and hasattr(signal, "setitimer")


@contextlib.contextmanager
def _alarm(seconds: float) -> Generator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise OverdueError("its time is over")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
