"""A fork waits for what other threads are in the midst of."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import pytest

from parpass import fork_safety as module
from parpass.fork_safety import ForkSafeLock, cached_property, fork_lock


def child_says(what: Callable[[], Any]) -> Any:
    """Fork, and return whether what a child found is true, and how long that took."""
    child = os.fork()
    if not child:
        answer = 1
        try:
            answer = 0 if what() else 1
        finally:
            os._exit(answer)
    return os.waitpid(child, 0)[1] == 0


@contextmanager
def thread_inside(manager: AbstractContextManager[None]) -> Generator[threading.Event]:
    """Have a thread be inside of something until it is told to leave."""
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with manager:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    assert inside.wait(60)
    try:
        yield leave
    finally:
        leave.set()
        thread.join()


@pytest.mark.parametrize("kind", [lambda: fork_lock, ForkSafeLock])
def test_a_fork_waits_until_other_threads_are_outside(
    kind: Callable[[], AbstractContextManager[None]],
):
    manager = kind()

    def enter() -> bool:
        with manager:
            return True

    with thread_inside(manager) as leave:
        was_left: list[bool] = []
        timer = threading.Timer(0.02, lambda: (was_left.append(True), leave.set()))
        timer.start()
        assert child_says(lambda: was_left and enter())
        timer.join()


def test_a_thread_that_is_inside_itself_may_fork():
    with fork_lock, fork_lock:
        assert child_says(lambda: True)


def test_a_fork_goes_ahead_at_last_and_the_child_is_not_locked(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.05)
    lock = ForkSafeLock()

    def enter() -> bool:
        with lock, fork_lock:
            return child_says(lambda: True)  # nor is a child of it

    with thread_inside(lock):
        began = time.monotonic()
        assert child_says(enter)
        assert time.monotonic() - began < 10


def test_what_others_begin_while_a_fork_waits_is_not_put_off():
    began = threading.Event()

    def begin() -> None:
        with fork_lock:
            began.set()

    with thread_inside(fork_lock) as leave:
        other = threading.Timer(0.02, begin)
        other.start()
        last = threading.Thread(target=lambda: (began.wait(60), leave.set()))
        last.start()
        assert child_says(began.is_set)
        other.join()
        last.join()


def test_a_lock_is_of_one_thread_at_a_time_and_may_be_entered_again():
    lock, inside = ForkSafeLock(), 0

    def enter() -> None:
        nonlocal inside
        for _ in range(50):
            with lock, lock:
                inside += 1
                assert inside == 1
                time.sleep(0)
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert inside == 0


class Made:
    @cached_property
    def value(self) -> list[int]:
        """A list."""
        return []


def test_a_cached_property_is_made_once_and_is_the_objects_own():
    one, other = Made(), Made()
    assert one.value is one.value
    assert one.value is not other.value
    assert Made.value.__doc__ == "A list."


class _Interrupt:
    """Raises what Ctrl-C does at the n-th line of the module that is come to.

    Not at a `with` when it is left: no signal is looked for between its body and that.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self._seen: set[tuple[FrameType, int]] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> _Interrupt | None:
        if frame.f_code.co_filename != module.__file__:
            return None
        line = frame, frame.f_lineno
        if event == "line" and line not in self._seen:
            self._seen.add(line)
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted(manager: AbstractContextManager[None], number: int) -> bool:
    """Enter something; return whether that was interrupted before it was done."""
    tracing = sys.gettrace()
    try:
        sys.settrace(_Interrupt(number))
        manager.__enter__()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(tracing)
    manager.__exit__(None, None, None)
    return False


@pytest.mark.parametrize("kind", [lambda: fork_lock, ForkSafeLock])
def test_what_is_interrupted_when_it_is_entered_is_not_entered(
    kind: Callable[[], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 60.0)
    number = 1
    while interrupted(manager := kind(), number):
        number += 1

        def enter(manager: AbstractContextManager[None] = manager) -> None:
            with manager:
                assert child_says(lambda: True)

        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), f"interrupted at line {number - 1}"
    assert number > 3


def test_a_fork_that_goes_ahead_takes_the_named_locks_at_least(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.05)
    forks, lock = type(fork_lock)(), threading.Lock()
    forks.register(lock)
    with thread_inside(forks):
        forks.before_fork()
        was_taken = lock.locked()
        forks.after_in_parent()
    assert was_taken
    assert not lock.locked()
