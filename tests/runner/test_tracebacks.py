"""What is printed of an error is the same, wherever a pipeline is run from."""

from __future__ import annotations

import asyncio
import functools
import traceback
from typing import Any

import pytest
import trio

import parpass
from parpass.instrument import PassInstrument
from parpass.runner import Runner
from parpass.transform import PassContext, PassInfo, Sequential, function_pass
from parpass.transform import module_pass as a_module_pass
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, FailOn, FailWhole, Keep, ReturnWrong

pytestmark = pytest.mark.each_executor


@function_pass(opt_level=0)
def wrap(func: Fn, mod: Program, ctx: PassContext) -> Fn:
    try:
        return deeper(func)
    except KeyError as error:
        raise ValueError("it cannot be") from error


def deeper(func: Fn) -> Any:
    raise KeyError(func.values[0])


@a_module_pass(opt_level=0)
async def awaiting(mod: Program, ctx: PassContext) -> Program:
    raise ValueError("too late")


class FailingHook(PassInstrument):
    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        raise ValueError(info.name)


def printed(error: BaseException) -> list[str]:
    """Return what Python prints of an error, from the body on."""
    lines = traceback.format_exception(error)
    first = next(at for at, line in enumerate(lines) if "in here" in line)
    del lines[first]
    return lines


def here(a_pass: Any, mod: Program) -> Any:
    try:
        return a_pass(mod)
    except BaseException as error:  # noqa: BLE001 -- it is looked at
        return error


def by_runner(runner: Runner, root: Any, mod: Program) -> Any:
    return runner.run_sync(mod, root)


CASES = [
    FailOn(2),
    FailWhole(),
    ReturnWrong(),
    Sequential([Add(), Keep(), wrap, Add()]),
]


@pytest.mark.parametrize("config", [{}, POOLED], ids=["here", "workers"])
@pytest.mark.parametrize("root", CASES, ids=str)
def test_both_drivers_show_the_same(root: Any, config: Any, runner: Runner):
    with PassContext(config=config):
        serial = here(root, program(1, 2))
        parallel = here(functools.partial(by_runner, runner, root), program(1, 2))
    shown = [line for line in printed(parallel) if "in by_runner" not in line]
    assert shown == printed(serial)


def awaited(error: BaseException) -> list[str]:
    """Return the functions below the one that has awaited."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return names[names.index("awaits") + 1 :]


def by_trio(awaits: Any) -> None:
    trio.run(awaits)


def by_asyncio(awaits: Any) -> None:
    asyncio.run(awaits())


@pytest.mark.parametrize(
    ("root", "body"),
    [
        (FailOn(2), "transform_function"),
        (FailWhole(), "transform_module"),
        (awaiting, "awaiting"),
    ],
)
@pytest.mark.parametrize("event_loop", [by_trio, by_asyncio])
def test_on_event_loops_the_body_follows_who_awaits(
    event_loop: Any, root: Any, body: str, runner: Runner
):
    async def awaits() -> Any:
        return await runner.run(program(1, 2), root)

    with (
        PassContext(config=POOLED),
        pytest.raises(ValueError, match=r"met 2|bad|too late") as caught,
    ):
        event_loop(awaits)
    assert awaited(caught.value) == [body]


@pytest.mark.parametrize("run", [parpass.run_pipeline_sync, Runner().run_sync])
def test_the_functions_of_the_surface_are_left_out(run: Any):
    watched = PassContext(instruments=[FailingHook()])
    with watched, pytest.raises(ValueError, match="Add") as caught:
        run(program(1), Add())
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == [
        "test_the_functions_of_the_surface_are_left_out",
        "run_before_pass",
    ]


async def test_the_coroutine_of_the_surface_is_left_out():
    async def awaits() -> Any:
        return await parpass.run_pipeline(program(1), FailWhole(), workers=0)

    with pytest.raises(ValueError, match="bad") as caught:
        await awaits()
    assert awaited(caught.value) == ["transform_module"]
