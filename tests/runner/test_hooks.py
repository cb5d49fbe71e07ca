"""What instruments do to a run: the same wherever its passes are run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import Any

import pytest
import trio

from parpass.instrument import PassInstrument
from parpass.runner import Runner, run_pipeline
from parpass.transform import Pass, PassContext, PassInfo, Sequential, function_pass
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, Keep
from tests.support.watching import Log

pytestmark = pytest.mark.each_executor

PLACES = {"here": HERE, "at once": {}, "workers": POOLED}


def changing(hook: str, mod: Program | None, pass_name: str) -> bool:
    """Change the module around some pass: a function added, another one replaced."""
    if (hook, pass_name) in (("after", "Add"), ("before", "Keep")):
        assert mod is not None
        mod[f"new{len(mod.functions)}"] = Fn((len(mod.functions),))
        mod["f0"] = Fn((*mod["f0"].values, 7))
    return True


@pytest.mark.parametrize("place", PLACES)
def test_a_hook_that_changes_the_module_has_changed_it_for_later_passes(
    runner: Runner, place: str
):
    root = Sequential([Add(1), Add(1), Keep(), Add(1)])
    with PassContext(instruments=[Log(at=changing)]):
        serial = root(program(1, 2))
    with PassContext(instruments=[Log(at=changing)], config=PLACES[place]):
        parallel = runner.run_sync(program(1, 2), root)
    assert list(parallel.functions) == ["f0", "f1", "new2", "new3", "new4", "new5"]
    assert values_of(parallel) == values_of(serial)


class Slow(PassInstrument):
    """Is entered when it is allowed to, and tells when it is left."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.allowed, self.left = (threading.Event() for _ in range(3))
        self.log: list[str] = []

    def enter_pass_ctx(self) -> None:
        self.begun.set()
        self.allowed.wait(60)
        self.log.append("entered")

    def exit_pass_ctx(self) -> None:
        self.log.append("exited")
        self.left.set()

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.log.append("before")

    async def run(self) -> None:
        context = PassContext(instruments=[self])
        await run_pipeline(program(1), Keep(), workers=0, context=context)


def test_what_was_entered_for_a_run_cancelled_meanwhile_is_exited_under_trio():
    slow = Slow()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(slow.run)
            await trio.to_thread.run_sync(slow.begun.wait)
            nursery.cancel_scope.cancel()

    trio.run(main)
    slow.allowed.set()
    assert slow.left.wait(60)
    assert slow.log == ["entered", "exited"]


def test_what_was_entered_for_a_run_cancelled_meanwhile_is_exited_under_asyncio():
    slow = Slow()

    async def main() -> None:
        running = asyncio.create_task(slow.run())
        await asyncio.to_thread(slow.begun.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    slow.allowed.set()
    assert slow.left.wait(60)
    assert slow.log == ["entered", "exited"]


def test_a_run_that_is_cancelled_before_it_begins_enters_nothing():
    slow = Slow()

    async def main() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await slow.run()

    trio.run(main)
    assert slow.log == []


def test_instruments_are_exited_when_a_later_one_is_interrupted_while_entered():
    class Interrupted(PassInstrument):
        def enter_pass_ctx(self) -> None:
            raise KeyboardInterrupt

    first = Slow()
    first.allowed.set()
    with (
        pytest.raises(KeyboardInterrupt),
        PassContext(instruments=[first, Interrupted()]),
    ):
        pass
    assert first.log == ["entered", "exited"]


class Blindly(PassInstrument):
    """Takes down its hooks, and looks at no module; fails after a pass of some name."""

    observes_ir = False

    def __init__(self, events: list[str], fails_after: str = "") -> None:
        self.events = events
        self.fails_after = fails_after

    def run_before_pass(self, mod: Program, info: PassInfo) -> None:
        self.events.append(f"before {info.name}")

    def run_after_pass(self, mod: Program, info: PassInfo) -> None:
        self.events.append(f"after {info.name}")
        if info.name == self.fails_after:
            raise ValueError("the hook's")


class Logs(logging.Handler):
    """Takes down what passes log."""

    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events

    def emit(self, record: logging.LogRecord) -> None:
        self.events.append(f"log {record.getMessage()}")


def logging_pass(name: str) -> Pass:
    def log(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logging.getLogger("tests.hooks").warning(name)
        return func

    return function_pass(log, opt_level=0, name=name)


@pytest.mark.parametrize("fails_after", ["", "A"])
@pytest.mark.parametrize("place", ["serial", *PLACES])
def test_what_passes_log_comes_between_their_hooks(
    runner: Runner, place: str, fails_after: str
):
    events: list[str] = []
    handler = Logs(events)
    logger = logging.getLogger("tests.hooks")
    logger.addHandler(handler)
    config = {} if place == "serial" else PLACES[place]
    root = Sequential([logging_pass("A"), logging_pass("B")])
    watching = PassContext(instruments=[Blindly(events, fails_after)], config=config)
    with contextlib.suppress(ValueError), watching:
        if place == "serial":
            root(program(1, 2))
        else:
            runner.run_sync(program(1, 2), root)
    logger.removeHandler(handler)
    first = ["before sequential", "before A", "log A", "log A", "after A"]
    rest = ["before B", "log B", "log B", "after B", "after sequential"]
    assert events == first + ([] if fails_after else rest)
