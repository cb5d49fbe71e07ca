"""Runs that stay in this process: what they give, and how they are told of."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given

from parpass.diagnostic import DiagnosticContext, DiagnosticLevel, override_renderer
from parpass.errors import RuntimeUseError, UnknownPassError
from parpass.runner import Runner, open_runner
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    Sequential,
    register_pass,
)
from tests.support.runner.comparing import both, context_settings, law_on
from tests.support.runner.costs import forget_costs
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, FailOn, Keep, Say
from tests.support.toy.pipelines import pipelines, programs

law = law_on(5)


class OfKnownCost(FunctionPass):
    """Adds 1; what it costs is what a test says."""

    pass_info = PassInfo(0, "OfKnownCost")
    function_timeout: float | None = None

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


class Interrupted(OfKnownCost):
    """Is interrupted by the user."""

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        raise KeyboardInterrupt


class Lost(OfKnownCost):
    """Requires a pass that there is not."""

    pass_info = PassInfo(0, "Lost", required=["there is no such pass"])


@register_pass("test_small_runs.Required")
class Required(Add):
    """Counts how often it was made in this process."""

    pass_info = PassInfo(0, "test_small_runs.Required")
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Required.made += 1


class Requiring(OfKnownCost):
    """Requires it."""

    pass_info = PassInfo(0, "Requiring", required=["test_small_runs.Required"])


@pytest.mark.slow
@law
@given(mod=programs(), pipeline=pipelines(), given_settings=context_settings())
def test_they_give_what_the_serial_run_gives(
    runner: Runner, mod: Program, pipeline: Sequential, given_settings: dict[str, Any]
):
    serial, small = both(pipeline, mod, list, given_settings, runner, {})
    assert small == serial


def test_nothing_is_run_twice():
    ran: list[Program] = []

    class Watched(Keep):
        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            ran.append(mod)
            return mod

    with open_runner(workers=0) as runner:
        runner.run_sync(program(1), [Watched(), Add()])
    assert len(ran) == 1


def test_a_pass_that_is_required_is_made_once(runner: Runner):
    forget_costs()
    Required.made = 0
    runner.run_sync(program(1, 2), [Requiring()])
    assert Required.made == 1


def test_what_comes_after_an_error_that_nobody_heard_is_run_on_what_it_left(
    runner: Runner,
):
    passes = Sequential([Say(DiagnosticLevel.ERROR), Add(1)])

    def deaf(diag_ctx: DiagnosticContext) -> None:
        diag_ctx.diagnostics.clear()

    override_renderer(deaf)
    try:
        mod = program(1)
        assert values_of(runner.run_sync(mod, passes)) == values_of(passes(mod))
    finally:
        override_renderer(None)


def test_they_are_told_of(runner: Runner):
    assert values_of(runner.run_sync(program(1), [Add(), Add(2)])) == {"f0": (4,)}
    report = runner.last_report
    assert report is not None
    assert list(report.here) == ["a single function"]
    assert list(report.passes) == ["Add"]
    assert 0 < report.passes["Add"] <= report.here["a single function"]
    assert report.here["a single function"] <= report.seconds
    assert (report.workers, report.stages, report.jobs) == (2, 1, 0)


def test_those_that_fail_are_told_of(runner: Runner):
    runner.run_sync(program(1), Add())
    with pytest.raises(ValueError, match="met 1"):
        runner.run_sync(program(1), [Add(0), FailOn(1)])
    assert runner.last_report is not None
    assert list(runner.last_report.passes) == ["Add", "FailOn"]


def test_a_run_that_fails_before_its_first_pass_is_told_of(runner: Runner):
    runner.run_sync(program(1), Add())
    with pytest.raises(UnknownPassError):
        runner.run_sync(program(1), [Lost()])
    assert runner.last_report is not None
    assert runner.last_report.passes == {}


def test_a_run_that_is_interrupted_is_told_of(runner: Runner):
    with pytest.raises(KeyboardInterrupt):
        runner.run_sync(program(1), Interrupted())
    assert runner.last_report is not None
    assert runner.last_report.seconds > 0


def test_no_module_is_kept(runner: Runner):
    gc.collect()
    mod = program(1)
    made = runner.run_sync(mod, Add())
    refs = [weakref.ref(mod), weakref.ref(made)]
    del mod, made
    assert [ref() for ref in refs] == [None, None]


async def test_they_refuse_to_block_trio_too(runner: Runner):
    with pytest.raises(RuntimeUseError, match="running trio event loop"):
        runner.run_sync(program(1), Add())
