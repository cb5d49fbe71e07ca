from __future__ import annotations

import contextlib
import gc
import itertools
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from queue import SimpleQueue
from types import FrameType

import pytest
import trio

from parpass.runner import NoWorkersError
from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.pool import event_loops
from parpass.runner.pool.event_loops import Inbox, TrioCall


async def this_thread() -> threading.Thread:
    return threading.current_thread()


@contextlib.contextmanager
def none_idle() -> Generator[None]:
    """Have no idle loop, so that a call has a new one."""
    idle = event_loops._idle  # pyright: ignore[reportPrivateUsage] -- nobody else asks
    others = idle.copy()
    idle.clear()
    try:
        yield
    finally:
        idle.extend(others)


async def test_messages_of_a_thread_are_taken_in_their_order():
    inbox = Inbox[tuple[int, int]]()

    def put(number: int) -> None:
        for at in range(50):
            inbox.put((number, at))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    taken = [await inbox.take(60) for _ in range(150)]
    assert await inbox.take(0) is None
    for number in range(3):
        expected = [(number, at) for at in range(50)]
        assert [
            one for one in taken if one is not None and one[0] == number
        ] == expected


async def test_messages_that_wait_hold_up_no_cancellation():
    inbox, taken = Inbox[int](), list[int | None]()
    for number in range(3):
        inbox.put(number)
    with trio.CancelScope() as scope:
        taken.append(await inbox.take(60))
        scope.cancel()
        taken.append(await inbox.take(60))
    assert taken == [0]
    assert [await inbox.take(0) for _ in range(3)] == [1, 2, None]


def test_what_is_put_when_the_loop_has_ended_is_lost():
    async def create() -> Inbox[int]:
        return Inbox[int]()

    trio.run(create).put(1)


def test_calls_that_follow_one_another_have_one_loop():
    assert TrioCall().run(this_thread) is TrioCall().run(this_thread)
    assert TrioCall().run(this_thread) is not threading.current_thread()


def test_calls_at_once_have_loops_of_their_own():
    released, found = threading.Event(), SimpleQueue[threading.Thread]()

    async def wait() -> threading.Thread:
        found.put(threading.current_thread())
        await trio.to_thread.run_sync(released.wait)
        return threading.current_thread()

    first = threading.Thread(target=lambda: found.put(TrioCall().run(wait)))
    first.start()
    busy = found.get()
    assert TrioCall().run(this_thread) is not busy
    released.set()
    assert found.get() is busy


def test_an_idle_loop_ends_in_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(event_loops, "IDLE_SECONDS", 0.0)
    with none_idle():
        ended = TrioCall().run(this_thread)
    ended.join(60)
    assert not ended.is_alive()
    assert TrioCall().run(this_thread) is not ended


def test_idle_loops_end_at_once_if_they_are_told_to():
    kept = TrioCall().run(this_thread)
    event_loops.end_idle()
    assert not kept.is_alive()
    assert TrioCall().run(this_thread) is not kept


def test_a_loop_that_breaks_is_not_used_again():
    def fail() -> None:
        raise ValueError("an event loop cannot go on after this")

    async def break_it() -> None:
        trio.lowlevel.current_trio_token().run_sync_soon(fail)
        broken.append(threading.current_thread())
        await trio.sleep_forever()

    broken = list[threading.Thread]()
    with pytest.raises(NoWorkersError, match="there is no event loop, TrioInternal"):
        TrioCall().run(break_it)
    assert TrioCall().run(this_thread) not in broken


def test_a_call_that_comes_as_an_idle_loop_would_end_is_made(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(event_loops, "IDLE_SECONDS", 0.0)
    with none_idle():
        for _ in range(300):
            TrioCall().run(this_thread)


def test_an_error_arrives_as_it_was_raised():
    given = KeyError("given")

    async def fail() -> None:
        raise given

    with pytest.raises(KeyError) as caught:
        TrioCall().run(fail)
    assert caught.value is given
    assert (given.__cause__, given.__context__) == (None, None)


def cancelled_at(begun: Callable[[TrioCall], object]) -> list[str]:
    """Return what a call noted that is cancelled, and the one after it."""
    call, noted = TrioCall(), list[str]()

    async def work() -> None:
        noted.append("begun")
        begun(call)
        try:
            await trio.sleep_forever()
        finally:
            noted.append("ended")

    with pytest.raises(AbandonedError):
        call.run(work)
    noted.append(TrioCall().run(this_thread).name)
    return noted


def test_a_cancelled_call_ends_and_its_loop_goes_on():
    assert cancelled_at(TrioCall.cancel) == ["begun", "ended", "parpass-loop"]


def test_a_call_that_is_cancelled_before_it_is_made_is_not_made():
    async def fail() -> None:
        pytest.fail("it was made")

    call = TrioCall()
    call.cancel()
    with pytest.raises(AbandonedError):
        call.run(fail)


def test_a_call_that_ends_before_it_is_cancelled_has_its_result():
    call = TrioCall()
    thread = call.run(this_thread)
    call.cancel()
    assert TrioCall().run(this_thread) is thread


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="of POSIX")
@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_handler_of_signals_raises_ends_a_call(
    is_new: bool,
):
    TrioCall().run(this_thread)
    late, noted = TimeoutError("late"), list[str]()

    def handle(*_: object) -> None:
        if "interrupted" not in noted:
            noted.append("interrupted")
            raise late

    async def work() -> None:
        try:
            # Python does not notice one that comes just before a thread begins to wait.
            while True:
                os.kill(os.getpid(), signal.SIGUSR1)
                await trio.lowlevel.checkpoint()
        finally:
            noted.append("ended")

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with (
            none_idle() if is_new else contextlib.nullcontext(),
            pytest.raises(TimeoutError) as caught,
        ):
            TrioCall().run(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught.value is late
    assert noted == ["interrupted", "ended"]


def test_what_is_raised_at_any_moment_of_a_call_ends_it():
    late, noted, is_waiting = TimeoutError("late"), list[str](), threading.Event()

    async def work() -> None:
        noted.append("begun")
        try:
            while not is_waiting.is_set():
                await trio.lowlevel.checkpoint()
        finally:
            noted.append("ended")

    def is_interrupted_at(moment: int) -> bool:
        """Make a call; return whether it has so many moments, of which this raises.

        Python calls handlers of signals when a function begins, and when a built-in one
        has returned: what that returned is lost.
        """
        moments = itertools.count()

        def profile(frame: FrameType, event: str, called: object) -> None:
            is_ours = frame.f_code.co_filename == event_loops.__file__
            if event == "c_call" and getattr(called, "__name__", "") == "get":
                is_waiting.set()
            if is_ours and event in ("call", "c_return") and next(moments) == moment:
                raise late

        sys.setprofile(profile)
        try:
            TrioCall().run(work)
        except TimeoutError:
            return True
        finally:
            sys.setprofile(None)
        return False

    TrioCall().run(this_thread)
    moment = 0
    while is_interrupted_at(moment):
        assert noted in ([], ["begun", "ended"])
        noted.clear()
        is_waiting.clear()
        moment += 1
    assert is_waiting.is_set()
    assert TrioCall().run(this_thread).name == "parpass-loop"


def test_without_a_thread_or_a_loop_there_are_no_workers(
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    def run_out(*_: object) -> None:
        raise OSError(24, "Too many open files")

    for place, name, lack in (
        (threading.Thread, "start", refuse),
        (event_loops.trio, "run", run_out),
    ):
        with none_idle(), monkeypatch.context() as lacking:
            lacking.setattr(place, name, lack)
            with pytest.raises(
                NoWorkersError, match="there is no event loop, "
            ) as caught:
                TrioCall().run(this_thread)
        assert caught.value.why == "none"
    TrioCall().run(this_thread)


class Result(Exception):  # noqa: N818 -- it may be returned or raised
    """What comes of a call."""


@pytest.mark.parametrize("fails", [False, True])
def test_what_comes_of_a_call_goes_with_its_last_reference(fails: bool):
    async def give() -> Result:
        if fails:
            raise Result
        return Result()

    async def look() -> Result | None:  # when the loop is done with the first call
        return given()

    gc.disable()
    try:
        try:
            given = weakref.ref(TrioCall().run(give))
        except Result as error:
            given = weakref.ref(error)
        assert TrioCall().run(look) is None
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_has_loops_of_its_own():
    TrioCall().run(this_thread)  # there is one that is idle
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)  # what waits for a thread that is not there never ends
            TrioCall().run(this_thread)
            os._exit(7)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
