"""What module passes and hooks set in contextvars, under all hosts."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from typing import Any

import pytest
import sniffio
import trio

from parpass.instrument import PassInstrument
from parpass.runner import run_pipeline, run_pipeline_sync
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from parpass.transform.capture.recorder import inside_function_pass
from tests.support.runner.notebook import prompt
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add

seen: ContextVar[tuple[str, ...]] = ContextVar("seen", default=())
around: ContextVar[str] = ContextVar("around", default="nothing")


class Note(ModulePass):
    """Adds a name to those that have been seen; fails if it is told to."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.pass_info = PassInfo(0, name)
        self.fails = fails

    def transform_module(self, mod: Program, ctx: PassContext) -> Any:
        seen.set((*seen.get(), self.info.name))
        if self.fails:
            raise ValueError("told to fail")
        return mod


class NoteLater(Note):
    """Does so on an event loop."""

    async def transform_module(self, mod: Program, ctx: PassContext) -> Any:
        is_asyncio = sniffio.current_async_library() == "asyncio"
        wait: Any = asyncio.sleep if is_asyncio else trio.sleep
        await wait(0)
        mod = super().transform_module(mod, ctx)
        await wait(0)
        return mod


class Around(PassInstrument):
    """Sets a variable around each pass, and notes it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[Token[str]] = []

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.tokens.append(around.set(info.name))

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        seen.set((*seen.get(), f"after {around.get()}"))
        around.reset(self.tokens.pop())


Host = Callable[[Sequence[Pass], PassContext], None]


def serially(passes: Sequence[Pass], context: PassContext) -> None:
    with context:
        Sequential(passes)(program(1))


def blocking(passes: Sequence[Pass], context: PassContext) -> None:
    run_pipeline_sync(program(1), passes, context=context, workers=0)


async def awaited(passes: Sequence[Pass], context: PassContext) -> tuple[str, ...]:
    with contextlib.suppress(ValueError):
        await run_pipeline(program(1), passes, context=context, workers=0)
    return seen.get()


async def blocking_in_a_task(
    passes: Sequence[Pass], context: PassContext
) -> tuple[str, ...]:
    with prompt(), contextlib.suppress(ValueError):
        blocking(passes, context)
    return seen.get()


def seen_by_caller(host: str, passes: Sequence[Pass]) -> tuple[str, ...]:
    """Return what a caller sees after a run, in a contextvars context of its own."""
    context = PassContext(instruments=[Around()])

    def run() -> tuple[str, ...]:
        seen.set(("caller",))
        match host:
            case "trio":
                return trio.run(awaited, passes, context)
            case "asyncio":
                return asyncio.run(awaited(passes, context))
            case "in a task of asyncio's":
                return asyncio.run(blocking_in_a_task(passes, context))
            case _:
                with contextlib.suppress(ValueError):
                    (serially if host == "serial" else blocking)(passes, context)
                return seen.get()

    return contextvars.copy_context().run(run)


HOSTS = ["blocking", "trio", "asyncio", "in a task of asyncio's"]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_what_passes_and_hooks_set_is_seen_after_the_run_as_after_a_serial_one(
    host: str, fails: bool
):
    passes = [Note("one"), Note("two", fails=fails), Note("three")]
    serial = seen_by_caller("serial", passes)
    assert serial[:4] == ("caller", "one", "after one", "two")
    assert seen_by_caller(host, passes) == serial


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_async_passes_see_and_set_what_the_others_do(host: str, fails: bool):
    later = NoteLater("later", fails=fails)
    passes = [Note("one"), later, Note("two"), NoteLater("last")]
    expected = ("caller", "one", "after one", "later")
    rest = ("after later", "two", "after two", "last", "after last", "after sequential")
    assert seen_by_caller(host, passes) == (expected if fails else expected + rest)


pickled: list[tuple[threading.Thread, str]] = []  # in this process, or a worker


class Watched(Fn):
    """A function that notes where it is pickled and unpickled, and for whom."""

    def __reduce__(self) -> tuple[Any, ...]:
        pickled.append((threading.current_thread(), around.get()))
        return _watched, (self.values,)


def _watched(values: tuple[int, ...]) -> Watched:
    pickled.append((threading.current_thread(), around.get()))
    return Watched(values)


def run_watched(host: str) -> Any:
    around.set("the caller")
    mod = Program({f"f{number}": Watched((number,)) for number in range(300)})
    if host in ("trio", "asyncio"):
        run = functools.partial(run_pipeline, mod, Add(1), context=pooled(), workers=1)
        return trio.run(run) if host == "trio" else asyncio.run(run())
    sync = functools.partial(
        run_pipeline_sync, mod, Add(1), context=pooled(), workers=1
    )
    if host == "blocking":
        return sync()

    async def in_a_task() -> Any:
        with prompt():
            return sync()

    return asyncio.run(in_a_task())


@pytest.mark.parametrize("host", HOSTS)
def test_functions_are_pickled_in_the_callers_context_and_beside_its_event_loop(
    host: str,
):
    pickled.clear()
    made = contextvars.copy_context().run(run_watched, host)
    assert values_of(made) == {f"f{number}": (number + 1,) for number in range(300)}
    assert len(pickled) >= 600  # some are encoded again, for a job of one
    assert {seen_by for _, seen_by in pickled} == {"the caller"}
    if host in ("trio", "asyncio"):
        assert threading.current_thread() not in {thread for thread, _ in pickled}


async def test_a_run_that_is_cancelled_leaves_the_callers_context_current():
    before = PassContext.current()

    class Cancel(ModulePass):
        pass_info = PassInfo(0, "Cancel")

        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            seen.set(("set",))
            trio.from_thread.run_sync(scope.cancel)
            return mod

    with trio.CancelScope() as scope:
        passes = [Cancel(), Note("one")]
        await run_pipeline(program(1), passes, context=PassContext(), workers=0)
    assert scope.cancelled_caught
    assert PassContext.current() is before


class AsksLoop(PassInstrument):
    """Calls a function on trio's event loop in its first and its last hook."""

    def __init__(self) -> None:
        self.loops: list[str] = []

    def enter_pass_ctx(self) -> None:
        self.loops.append(trio.from_thread.run_sync(sniffio.current_async_library))

    exit_pass_ctx = enter_pass_ctx


@pytest.mark.parametrize("fails", [False, True])
async def test_hooks_reach_the_callers_event_loop_also_after_a_failure(fails: bool):
    asks = AsksLoop()
    context = PassContext(instruments=[asks])
    failing = pytest.raises(ValueError, match="told to fail")
    with failing if fails else contextlib.nullcontext():
        await run_pipeline(
            program(1), [Note("one", fails=fails)], context=context, workers=0
        )
    assert asks.loops == ["trio", "trio"]


class WaitInBody(FunctionPass):
    """Waits in its body, in this process, until it is released."""

    pass_info = PassInfo(0, "WaitInBody")
    where = "here"

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.begun.set()
        self.released.wait(60)
        return func


async def test_a_body_that_is_abandoned_leaves_its_caller_outside_of_bodies():
    wait = WaitInBody()

    async def cancel_it() -> None:
        await trio.to_thread.run_sync(wait.begun.wait)
        scope.cancel()

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_it)
            await run_pipeline(program(1), wait)
    try:
        assert scope.cancelled_caught
        assert not inside_function_pass()
    finally:
        wait.released.set()
