"""Passes that say where they run: in workers, or in the process of the caller."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import FunctionCache, run_pipeline_sync
from parpass.errors import ArgumentError, BudgetWarning, FunctionTimeoutError
from parpass.runner import Runner, open_runner
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.comparing import both, instruments, law_on
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.hard_passes import AppendPid
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn, Say
from tests.support.toy.pipelines import programs
from tests.support.toy.talking import Talk

Where = Literal["workers", "here"] | None

MOD = program(1, 2, 3)


class Here(AppendPid):
    pass_info = PassInfo(0, "Here")
    where = "here"


class There(AppendPid):
    pass_info = PassInfo(0, "There")
    where = "workers"


class Late(FunctionPass):
    """Takes longer than its limit."""

    pass_info = PassInfo(0, "Late")
    where = "here"
    function_timeout = 0.01

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        return func


@function_pass(opt_level=0)
class Decorated:
    """Appends the number of the process that it runs in."""

    where = "here"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, os.getpid()))


def ran_here(
    runner: Runner, steps: Sequence[Pass], config: dict[str, Any], **limits: Any
) -> list[bool]:
    """Return of passes that append the number of their process where each ran."""
    context = PassContext(config=config)
    made = runner.run_sync(MOD, Sequential(steps), context=context, **limits)
    (places,) = {
        tuple(value == os.getpid() for value in values[1:])
        for values in values_of(made).values()
    }
    return list(places)


def test_a_pass_runs_where_it_says_whatever_it_costs(runner: Runner):
    assert ran_here(runner, [There()], HERE) == [False]
    assert ran_here(runner, [Here()], POOLED) == [True]
    assert runner.last_report is not None
    assert list(runner.last_report.here) == ["passes whose where is 'here'"]


def test_a_pass_that_says_nothing_goes_along_with_those_of_workers(runner: Runner):
    steps = [AppendPid(), There(), AppendPid()]
    assert ran_here(runner, steps, HERE) == [False, False, False]


def test_a_pass_that_says_nothing_does_not_go_along_with_those_of_here(runner: Runner):
    steps = [AppendPid(), Here(), AppendPid(), Here(), Here(), There()]
    assert ran_here(runner, steps, POOLED) == [False, True, False, True, True, False]


def test_a_pass_beside_one_of_here_runs_where_it_is_done_soonest(runner: Runner):
    steps = [There(), Here(), AppendPid()]
    assert ran_here(runner, steps, HERE) == [False, True, True]


def test_it_holds_for_what_is_not_in_a_cache():
    with open_runner(workers=2, cache=FunctionCache()) as runner:
        steps = [AppendPid(), Here(), There()]
        assert ran_here(runner, steps, POOLED) == [False, True, False]


def test_a_decorated_class_says_it_as_well(runner: Runner):
    assert ran_here(runner, [Decorated(), AppendPid()], POOLED) == [True, False]


def test_isolation_is_above_what_a_pass_says():
    with open_runner(workers=1, isolated=True) as runner:
        assert ran_here(runner, [Here(), AppendPid()], {}) == [False, False]


def test_that_a_limit_is_checked_late_here_is_warned_of(runner: Runner):
    with pytest.warns(
        BudgetWarning, match="function_timeout of pass 'Here' is checked"
    ):
        assert ran_here(runner, [Here()], POOLED, function_timeout=60) == [True]


@pytest.mark.parametrize("cache", [None, FunctionCache()])
def test_of_a_limit_that_nothing_enforces_here_a_run_warns_once(
    cache: FunctionCache | None,
):
    for workers, step in ((0, Add(1)), (2, Here())):
        with (
            open_runner(workers=workers, cache=cache) as runner,
            pytest.warns(BudgetWarning, match="memory_limit is enforced in") as told,
        ):
            runner.run_sync(MOD, step, memory_limit=10**9)
        assert len(told) == 1


@pytest.mark.filterwarnings("ignore::parpass.errors.BudgetWarning")
def test_a_limit_here_is_held_when_the_pass_is_done(runner: Runner):
    with pytest.raises(FunctionTimeoutError, match=r"0\.01"):
        runner.run_sync(MOD, Late(), context=PassContext(config=POOLED))


def test_another_place_is_an_error_that_names_it(runner: Runner):
    message = "expected 'workers', 'here' or None for where of pass '.*', got 'there'"
    with pytest.raises(ArgumentError, match=message):

        class Wrong(AppendPid):  # pyright: ignore[reportUnusedClass] -- it is refused
            where: Any = "there"

    step: Any = Add(1)
    step.where = "there"
    for run in (runner.run_sync, run_pipeline_sync):
        with pytest.raises(ArgumentError, match=message):
            run(MOD, step)
    with pytest.raises(ArgumentError, match=message):
        step(MOD)


def steps_of(
    drawn: Sequence[tuple[type[Pass], Sequence[Any], Where]],
) -> Sequential:
    """Return passes that are made of arguments, and say where they run."""
    made: list[Any] = []
    for kind, arguments, where in drawn:
        one: Any = kind(*arguments)
        one.where = where
        made.append(one)
    return Sequential(made)


KINDS: list[tuple[type[Pass], Sequence[Any]]] = [
    (Add, (1,)), (AddFrom, ("f0",)), (Say, ()), (FailOn, (3,)), (Talk, ()),
]  # fmt: skip


@pytest.mark.slow
@law_on(0.2)
@given(
    mod=programs(),
    drawn=st.lists(
        st.tuples(st.sampled_from(KINDS), st.sampled_from(["workers", "here", None])),
        max_size=6,
    ),
    make=instruments(),
    config=st.sampled_from([POOLED, HERE, {ASKING_WORKERS_SECONDS: 1e-5}]),
)
def test_the_law_holds_wherever_passes_say_that_they_run(
    runner: Runner,
    mod: Program,
    drawn: list[tuple[tuple[type[Pass], Sequence[Any]], Where]],
    make: Any,
    config: dict[str, Any],
):
    root = steps_of([(*kind, where) for kind, where in drawn])
    serial, parallel = both(root, mod, make, {}, runner, config)
    assert parallel == serial
