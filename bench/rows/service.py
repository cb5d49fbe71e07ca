"""Row `service`: what a run takes beside others on the same runner that go wrong."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Callable, Generator, Iterator

import trio

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work
from parpass import IRModule, PassContext, relay
from parpass.errors import WorkerDiedError
from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassInfo

_FUNCTIONS = 200
_PAUSE = 0.7  # seconds between two runs of a neighbour


class Wait(FunctionPass):
    """Takes 10 ms on a function, and no core: only what waits for workers shows."""

    pass_info = PassInfo(0, "Wait")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Wait and change nothing."""
        time.sleep(0.01)
        return func


class Hang(FunctionPass):
    """Takes for ever."""

    pass_info = PassInfo(0, "Hang")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Never return."""
        threading.Event().wait()
        return func


class Crash(FunctionPass):
    """Takes the process with it."""

    pass_info = PassInfo(0, "Crash")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Never return."""
        ctypes.string_at(0)
        return func


def _wait() -> list[Pass]:
    return [Wait()]


def _service(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(_FUNCTIONS, setting.workers), 10, _wait)
    mod, small = work.module(), Work(1, 10, _wait).module()

    def run() -> IRModule:
        return runner.run_sync(mod, Wait(), context=_context())

    def beside(neighbour: Callable[[Runner, IRModule], None]) -> Callable[[], float]:
        def seconds() -> float:
            with _again_and_again(lambda: neighbour(runner, small)):
                return clocked(run)()

        return seconds

    with parpass.open_runner(workers=setting.workers) as runner:
        run()
        sides = {
            "alone": clocked(run),
            "cancelled": beside(_cancelled),
            "crashing": beside(_crashing),
        }
        times = interleaved(sides, setting.repeat)
    for name in ("cancelled", "crashing"):
        yield Line(
            f"a pass that waits 10 ms on {work.functions} functions, beside a "
            f"neighbour's runs, {name} each {_PAUSE} s",
            "run : the same undisturbed",
            ratio(times, name, "alone"),
            Goal(1.3) if name == "cancelled" else None,  # a crash costs a worker
            times=times,
        )


def _context() -> PassContext:
    return PassContext(config=USE_WORKERS)


def _cancelled(runner: Runner, mod: IRModule) -> None:
    async def main() -> None:
        with trio.move_on_after(0.1):
            await runner.run(mod, Hang(), context=_context())

    trio.run(main)


def _crashing(runner: Runner, mod: IRModule) -> None:
    with contextlib.suppress(WorkerDiedError):
        runner.run_sync(mod, Crash(), context=_context())


@contextlib.contextmanager
def _again_and_again(do: Callable[[], None]) -> Generator[None]:
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            do()
            over.wait(_PAUSE)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


ROWS = (Row("service", _service),)
