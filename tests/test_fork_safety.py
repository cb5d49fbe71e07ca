"""A fork waits for what other threads are in the midst of."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

import pytest

from parpass import fork_safety as module
from parpass.fork_safety import (
    ProcessPatch,
    cached_property,
    forks_wait,
    process_lock,
)


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


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have neither a fork nor who waits for it go ahead as a thread needs a core."""
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 60.0)
    monkeypatch.setattr(module, "_HAND_OVER_SECONDS", 60.0)


def is_free(seconds: float = 60.0) -> bool:
    """Return whether another thread could acquire the lock, for which others may be."""
    free: list[bool] = []

    def acquire() -> None:
        free.append(process_lock.acquire(timeout=seconds))
        if free == [True]:
            process_lock.release()

    other = threading.Thread(target=acquire)
    other.start()
    other.join()
    return free == [True]


@contextmanager
def thread_inside(manager: AbstractContextManager[Any]) -> Generator[threading.Event]:
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


@pytest.mark.parametrize("kind", [forks_wait, lambda: process_lock])
def test_a_fork_waits_until_other_threads_are_outside(
    kind: Callable[[], AbstractContextManager[Any]],
):
    def enter() -> bool:
        with kind():
            return True

    with thread_inside(kind()) as leave:
        was_left: list[bool] = []
        timer = threading.Timer(0.02, lambda: (was_left.append(True), leave.set()))
        timer.start()
        assert child_says(lambda: was_left and enter())
        timer.join()


def test_a_thread_that_is_inside_itself_may_fork():
    with forks_wait(), forks_wait(), process_lock:
        assert child_says(lambda: True)


def test_a_fork_goes_ahead_at_last_and_the_child_is_not_locked(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(module, "_patches", [])
    patch = ProcessPatch(lambda: lambda: None)

    def enter() -> bool:
        with forks_wait(), patch:
            return child_says(lambda: True)  # nor is a child of it

    with thread_inside(forks_wait()), thread_inside(patch):
        assert child_says(enter)
        assert not module.is_alone()


def test_what_others_begin_while_a_fork_waits_is_not_put_off():
    began = threading.Event()

    def begin() -> None:
        with forks_wait():
            began.set()

    with thread_inside(forks_wait()) as leave:
        other = threading.Timer(0.02, begin)
        other.start()
        last = threading.Thread(target=lambda: (began.wait(60), leave.set()))
        last.start()
        assert child_says(began.is_set)
        other.join()
        last.join()


def test_a_fork_comes_before_what_a_thread_that_leaves_does_next(
    monkeypatch: pytest.MonkeyPatch,
):
    # That may be an import, for which no fork waits.
    inside, leave = threading.Event(), threading.Event()
    done_next: list[int] = []
    is_alone = module.is_alone

    def asked() -> bool:
        leave.set()
        return is_alone()

    def stay() -> None:
        with forks_wait():
            inside.set()
            leave.wait(60)
        done_next.append(1)

    monkeypatch.setattr(module, "is_alone", asked)
    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait(60)
    assert child_says(lambda: not done_next)
    thread.join()
    assert done_next


def test_a_child_whose_change_cannot_be_undone_has_the_others_undone_and_no_lock_held(
    monkeypatch: pytest.MonkeyPatch,
):
    undone: list[int] = []

    def fail() -> None:
        raise ValueError

    monkeypatch.setattr(module, "_patches", [])
    monkeypatch.setattr(sys, "unraisablehook", print)
    undos = [lambda: undone.append(1), fail, lambda: undone.append(2)]
    patches = [ProcessPatch(lambda undo=undo: undo) for undo in undos]

    with patches[0], patches[2]:
        patches[1].__enter__()
        assert child_says(lambda: sorted(undone) == [1, 2] and is_free())


class Made:
    def __init__(self, pause: AbstractContextManager[Any] | None = None) -> None:
        self._pause = nullcontext() if pause is None else pause

    @cached_property
    def value(self) -> list[int]:
        """A list."""
        with self._pause:
            return []


def test_a_cached_property_is_made_once_and_is_the_objects_own():
    one, other = Made(), Made()
    assert one.value is one.value
    assert one.value is not other.value
    assert Made.value.__doc__ == "A list."


def test_a_child_has_a_cached_property_that_another_thread_was_making():
    @contextmanager
    def pause() -> Generator[None]:
        began.set()
        go_on.wait(60)
        yield

    began, go_on = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: Made(pause()).value)
    thread.start()
    began.wait(60)

    def ask() -> bool:
        signal.alarm(60)  # else a child that waits for ever would hang the test
        return Made().value == []

    said = child_says(ask)
    go_on.set()
    thread.join()
    assert said


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


def test_what_is_interrupted_when_it_is_entered_is_not_entered():
    number = 1
    while interrupted(forks_wait(), number):
        number += 1

        def enter() -> None:
            with forks_wait():
                assert child_says(lambda: True)

        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), f"interrupted at line {number - 1}"
    assert number > 3


def test_an_interrupt_ends_the_wait_of_a_fork_and_leaves_no_lock_held(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "is_alone", lambda: signal.raise_signal(signal.SIGINT))
    ignored: list[type[BaseException] | None] = []

    def note(unraisable: sys.UnraisableHookArgs) -> None:
        ignored.append(unraisable.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", note)
    with thread_inside(forks_wait()):
        assert child_says(is_free)
        assert is_free()
    assert ignored == [KeyboardInterrupt]


def test_a_fork_that_goes_ahead_takes_the_lock_at_least(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.05)
    with thread_inside(forks_wait()):
        module.before_fork()
        was_free = is_free(seconds=0.01)
        module.after_in_parent()
    assert not was_free
    with process_lock:
        pass
