"""What passes raise is raised in the order of a serial run, from wherever it is run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sniffio
import trio

from parpass.diagnostic import Diagnostic
from parpass.errors import DiagnosticError, other_failures
from parpass.runner import Runner
from parpass.runner.cost_model import COST_MODEL
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from tests.support.runner.costs import forget_costs
from tests.support.runner.failing import cancelled
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ending import end
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, FailOn
from tests.support.watching import Log

pytestmark = pytest.mark.each_executor

PLACES = {"here": HERE, "at once": {}, "workers": POOLED}


@dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818 -- a user's
    what: str


class Asking(Exception):  # noqa: N818 -- a user's
    """Looks for what it has not in a table, and forgets what error that is to be."""

    def __getattr__(self, name: str) -> Any:
        known: dict[str, Any] = {}
        return known[name]


class Remade(Exception):  # noqa: N818 -- a user's
    """Says itself how it travels, but not what was noted on it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Remade, self.args


ONE = ValueError("made once")


class Do(FunctionPass):
    """Does something on functions of some numbers; adds 1 to others."""

    def __init__(self, name: str, do: Callable[[], object], *numbers: int) -> None:
        self.pass_info = PassInfo(0, name)
        self.do = do
        self.numbers = numbers

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if any(number in func.values for number in self.numbers):
            self.do()
        return func.with_values([*func.values, len(func.values)])


def raising(make: Callable[[], BaseException]) -> Callable[[], object]:
    def do() -> object:
        raise make()

    return do


def nested() -> BaseException:
    """Return what a pass raises that is run in the body of another."""
    fail = Do("Inner", raising(lambda: Remade("x")), 1)
    return raised(lambda: fail(program(1)))


def raised(run: Callable[[], Any]) -> BaseException:
    """Return what a call raises."""
    try:
        run()
    except BaseException as error:  # noqa: BLE001 -- it is looked at
        return error
    raise AssertionError("nothing was raised")


def seen(error: BaseException) -> tuple[Any, ...]:
    """Return what is compared of an error."""
    inside = repr(error.args)
    links = type(error.__cause__), type(error.__context__)
    notes = vars(error).get("__notes__", [])
    return type(error), str(error), inside, notes, links


def by_trio(runner: Runner, root: Pass, mod: Program) -> Any:
    return trio.run(runner.run, mod, root)


def by_asyncio(runner: Runner, root: Pass, mod: Program) -> Any:
    return asyncio.run(runner.run(mod, root))


def blocking(runner: Runner, root: Pass, mod: Program) -> Any:
    return runner.run_sync(mod, root)


def both(
    runner: Runner,
    root: Pass,
    mod: Program,
    place: str = "workers",
    run: Callable[[Runner, Pass, Program], Any] = blocking,
) -> tuple[BaseException, BaseException]:
    """Return what a serial and a parallel run raise."""
    serial = raised(lambda: root(mod))
    if serial is ONE and vars(ONE).get("__notes__"):
        del ONE.__notes__
    with PassContext(config=PLACES[place]):
        parallel = raised(lambda: run(runner, root, mod))
    return serial, parallel


ERRORS: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(3),
    "generator's": lambda: GeneratorExit(),
    "group": lambda: BaseExceptionGroup("g", [SystemExit(3), KeyboardInterrupt()]),
    "cancelled": cancelled,
    "frozen": lambda: Frozen("boo"),
    "asking": lambda: Asking("x"),
    "nested": nested,
}


@pytest.mark.parametrize("run", [blocking, by_trio, by_asyncio])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ERRORS)
def test_whatever_a_pass_raises_is_raised_by_the_run(
    runner: Runner,
    kind: str,
    place: str,
    run: Callable[[Runner, Pass, Program], Any],
):
    if run is by_asyncio and kind in ("exit", "generator's", "group"):
        return  # asyncio's loop has ways of its own with these
    root, mod = Do("P", raising(ERRORS[kind]), 2), program(1, 2, 3)
    serial, parallel = both(runner, root, mod, place, run)
    assert seen(parallel) == seen(serial)


def test_a_keyboard_interrupt_of_a_body_is_raised_from_a_worker(runner: Runner):
    root, mod = Do("P", raising(KeyboardInterrupt), 2), program(1, 2, 3)
    assert type(both(runner, root, mod)[1]) is KeyboardInterrupt


@pytest.mark.parametrize("place", PLACES)
def test_an_exit_in_a_later_pass_does_not_come_before_an_earlier_error(
    runner: Runner, place: str
):
    steps = [FailOn(4), Do("Exit", raising(lambda: SystemExit(3)), 1)]
    serial, parallel = both(runner, Sequential(steps), program(1, 2, 3, 4), place)
    assert type(parallel) is ValueError
    assert seen(parallel) == seen(serial)


@pytest.mark.parametrize("place", PLACES)
def test_one_exception_that_is_raised_on_all_functions_has_one_note(
    runner: Runner, place: str
):
    root = Do("P", raising(lambda: ONE), 1, 2, 3, 4)
    parallel = both(runner, root, program(1, 2, 3, 4), place)[1]
    assert parallel.__notes__ == ["in pass 'P', on function 'f0'"]


class FailsOnSecond(Do):
    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if ctx.function_name == "f1":
            raise ValueError("first")
        return super().transform_function(func, mod, ctx)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    "do",
    [
        raising(lambda: SystemExit(3)),
        raising(lambda: ValueError("later")),
        lambda: os._exit(7),
    ],
)
def test_here_nothing_runs_after_a_failure(
    runner: Runner, do: Callable[[], object], *, is_known: bool
):
    steps = [Add(1), FailsOnSecond("P", do, 4, 5), Do("Later", do, 4)]
    forget_costs()
    if is_known:  # else it is begun here, and what passes take is found out
        COST_MODEL.update(steps, [1e-6] * 3, 4)
    root = Sequential(steps)
    serial, parallel = both(runner, root, program(1, 2, 3, 4), "here")
    forget_costs()
    assert seen(parallel) == seen(serial)
    assert other_failures(parallel) == ()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "segfault"])
def test_in_workers_a_later_death_does_not_replace_the_first_error(
    runner: Runner, how: str
):
    # The killer is the largest function, and so the first to be run.
    mod = program(f0=Fn((1,)), f1=Fn((9,) * 1000))
    root = Sequential([FailOn(1), Do("Kill", lambda: end(how), 9)])
    assert seen(both(runner, root, mod)[1]) == seen(raised(lambda: FailOn(1)(mod)))


class Fatal(FunctionPass):
    """Reports an error on each function, and ends the pass on one of them."""

    pass_info = PassInfo(0, "Fatal")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert ctx.diag_ctx is not None
        text = f"wrong {len(ctx.diag_ctx.diagnostics)} {ctx.function_name}"
        said = Diagnostic.error(None, text)
        if ctx.function_name == "f2":
            ctx.diag_ctx.emit_fatal(said)
        ctx.diag_ctx.emit(said)
        return func


@pytest.mark.parametrize("place", PLACES)
def test_a_fatal_diagnostic_has_those_before_it(runner: Runner, place: str):
    serial, parallel = both(runner, Fatal(), program(1, 2, 3, 4), place)
    for error in (serial, parallel):
        assert isinstance(error, DiagnosticError)
        told = [one.message for one in error.diagnostics]
        assert told == ["wrong 0 f0", "wrong 0 f1", "wrong 0 f2"]
    assert seen(parallel) == seen(serial)


class Ends(ModulePass):
    """Ends the program, or raises what Ctrl-C does."""

    pass_info = PassInfo(0, "Exit")

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Exit(Ends):
    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        raise self.error


class ExitLater(Ends):
    async def transform_module(self, mod: Program, ctx: PassContext) -> Any:
        await _wait_a_moment()
        raise self.error


async def _wait_a_moment() -> None:
    """Wait on the event loop that runs."""
    if sniffio.current_async_library() == "trio":
        await trio.lowlevel.checkpoint()
    else:
        await asyncio.sleep(0)


@pytest.mark.parametrize("run", [blocking, by_trio, by_asyncio])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_async_module_pass_that_ends_the_program_has_failed_like_another(
    runner: Runner,
    kind: type[BaseException],
    run: Callable[[Runner, Pass, Program], Any],
):
    def calls(run: Callable[[], Any]) -> tuple[Any, ...]:
        log = Log()
        with PassContext(instruments=[log]):
            error = raised(run)
        return log.log, type(error), error.args, vars(error)["__notes__"]

    serial = calls(lambda: Exit(kind(3))(program(1)))
    assert calls(lambda: run(runner, ExitLater(kind(3)), program(1))) == serial


class WaitsForEver(ModulePass):
    """Waits on the event loop, until it is cancelled."""

    pass_info = PassInfo(0, "WaitsForEver")

    async def transform_module(self, mod: Program, ctx: PassContext) -> Any:
        while True:
            await _wait_a_moment()


def cancelled_by_trio(runner: Runner, root: Pass) -> None:
    async def run() -> None:
        with trio.move_on_after(0.05) as scope:
            await runner.run(program(1), root)
        assert scope.cancelled_caught

    trio.run(run)


def cancelled_by_asyncio(runner: Runner, root: Pass) -> None:
    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(runner.run(program(1), root), 0.05)

    asyncio.run(run())


@pytest.mark.parametrize("cancels", [cancelled_by_trio, cancelled_by_asyncio])
def test_an_async_module_pass_that_is_cancelled_has_not_failed(
    runner: Runner, cancels: Callable[[Runner, Pass], None]
):
    log = Log()
    with PassContext(instruments=[log]):
        cancels(runner, WaitsForEver())
    assert log.log == ["enter", "should WaitsForEver", "before WaitsForEver", "exit"]
