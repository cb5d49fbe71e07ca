"""The law: a parallel run gives what the serial run gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import Runner
from parpass.transform import Pass, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.conftest import RunnerOf
from tests.support.runner.comparing import (
    Host,
    RunPass,
    Watchers,
    both,
    context_settings,
    instruments,
    law_on,
)
from tests.support.runner.pooled import HERE, POOLED
from tests.support.runner.probing import probing_together, settling
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, AddFrom, FailOn, Say
from tests.support.toy.pipelines import pipelines, programs
from tests.support.watching import Blind, ChangeLog

law = law_on(3)

pytestmark = [pytest.mark.slow, pytest.mark.each_executor]

WORKERS = [2, 1, 4]


@law
@given(
    workers=st.sampled_from(WORKERS),
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
)
def test_workers_give_what_the_serial_run_gives(
    runner_of: RunnerOf,
    workers: int,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
):
    before = str(mod)
    serial, parallel = both(
        pipeline, mod, make, given_settings, runner_of(workers), POOLED
    )
    assert parallel == serial
    assert str(mod) == before


@law
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    asking=st.sampled_from([1e-9, 2e-5, 1e-4, 1e-3]),
)
def test_the_law_holds_where_a_stage_is_begun_in_process_and_ended_by_workers(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    asking: float,
):
    config = {ASKING_WORKERS_SECONDS: asking}
    serial, parallel = both(pipeline, mod, make, {}, runner, config)
    assert parallel == serial


@law
@given(
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
    batch=st.sampled_from([2, 3, 16]),
    asking=st.sampled_from([1e9, 1e-4]),
)
def test_the_law_holds_where_functions_are_run_together_in_process(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
    batch: int,
    asking: float,
):
    config = {ASKING_WORKERS_SECONDS: asking}
    with probing_together(batch):
        serial, parallel = both(pipeline, mod, make, given_settings, runner, config)
    assert parallel == serial


def settled(after: int, leaving: tuple[int, int] | None = None) -> Host:
    """Return a host whose runs go on pass by pass: see `settling`."""

    def on(runner: Runner) -> RunPass:
        def run(root: Pass, mod: Any) -> Any:
            with settling(after, leaving):
                return runner.run_sync(mod, root)

        return run

    return on


@law_on(10)
@given(
    mod=programs().filter(lambda mod: len(mod.functions) > 2),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
    after=st.integers(1, 4),
    leaving=st.none() | st.tuples(st.integers(0, 2), st.integers(0, 3)),
)
def test_the_law_holds_where_passes_go_on_one_after_the_other_in_process(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
    after: int,
    leaving: tuple[int, int] | None,
):
    serial, parallel = both(
        pipeline,
        mod,
        make,
        given_settings,
        runner,
        HERE,
        settled(after, leaving),
    )
    assert parallel == serial


@pytest.mark.parametrize("make", [list, lambda: [Blind()], lambda: [ChangeLog()]])
def test_the_law_holds_where_more_passes_than_go_together_go_on(
    runner: Runner, make: Watchers
):
    passes: list[Pass] = [Add(1), Add(2), AddFrom("f1")] * 7
    for root in (Sequential(passes), Sequential([*passes, FailOn(23), *passes])):
        mod, on = program(*range(4)), settled(1)
        serial, parallel = both(root, mod, make, {}, runner, HERE, on)
        assert parallel == serial


def test_the_law_holds_over_more_passes_than_go_together(runner: Runner):
    passes: list[Pass] = [Add(1), Say(), AddFrom("f1")] * 7
    failing = [*passes, FailOn(16), *passes]
    for root in (Sequential(passes), Sequential(failing)):
        serial, parallel = both(
            root, program(*range(4)), lambda: [Blind()], {}, runner, POOLED
        )
        assert parallel == serial
