"""A run with results of earlier runs gives what the serial run gives.

All examples share one cache: what one of them has computed the next ones recall, under
other passes, settings, instruments and neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import FunctionCache, Runner, open_runner
from parpass.transform import FunctionPass, Sequential
from tests.support.runner.comparing import (
    Watchers,
    both,
    context_settings,
    instruments,
    law_on,
)
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import Fn, Program, ReadOnlyProgram
from tests.support.toy.passes import Add, AddFrom, Say
from tests.support.toy.pipelines import pipelines, programs
from tests.support.toy.signed_ir import Change, SignedProgram, stated
from tests.support.toy.talking import Talk, TalkAside

pytestmark = pytest.mark.slow

RunnerWith = dict[tuple[int, float], Runner]


@pytest.fixture(scope="module")
def runner_with() -> Iterator[RunnerWith]:
    """Give runners by workers and by the share of results that are verified."""
    runners: RunnerWith = {}
    for verify in (0.0, 0.5, 1.0):
        cache = FunctionCache(max_entries=500, verify=verify)
        for workers in (0, 2):
            runners[workers, verify] = open_runner(workers=workers, cache=cache)
    yield runners
    for runner in runners.values():
        runner.close()


@law_on(2)
@given(
    workers=st.sampled_from([2, 0]),
    verify=st.sampled_from([0.0, 0.0, 0.5, 1.0]),
    mod=programs(),
    pipeline=pipelines(),
    make=instruments(),
    given_settings=context_settings(),
)
def test_recalled_results_are_those_of_a_serial_run(
    runner_with: RunnerWith,
    workers: int,
    verify: float,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    given_settings: dict[str, Any],
):
    runner = runner_with[workers, verify]
    for config in ({}, POOLED):
        serial, cached = both(pipeline, mod, make, given_settings, runner, config)
        assert cached == serial


class AskFor(FunctionPass):
    """Adds what another function states, found in one of several ways."""

    cacheable = "1"

    def __init__(self, way: str, name: str) -> None:
        self.pass_info = AddFrom.pass_info
        self.way, self.name = way, name

    def transform_function(self, func: Fn, mod: ReadOnlyProgram, ctx: Any) -> Fn:
        found = WAYS[self.way](mod, self.name)
        return func.with_values([*func.values, found]) if found else func


def _memory(mod: ReadOnlyProgram) -> dict[str, int]:
    memory: dict[str, int] = vars(mod).setdefault("memory", {})
    if not memory:
        memory.update({each: len(mod[each].values) for each in mod.functions})
    return memory


def _stated(mod: ReadOnlyProgram, name: str) -> int:
    return stated(mod, name) if name in mod.functions else 7


def _read(mod: ReadOnlyProgram, name: str) -> int:
    return sum(mod[name].values) if name in mod.functions else 8


def _counted(mod: ReadOnlyProgram, name: str) -> int:
    return len(mod.functions)


def _listed(mod: ReadOnlyProgram, name: str) -> int:
    return [*mod.functions, name].index(name)


def _remembered(mod: ReadOnlyProgram, name: str) -> int:
    return _memory(mod).get(name, 10)


WAYS = {
    "states": _stated,
    "reads": _read,
    "counts": _counted,
    "lists": _listed,
    "remembers": _remembered,
}

_asking = st.builds(
    AskFor, st.sampled_from(sorted(WAYS)), st.sampled_from(["f0", "f1", "f2", "g"])
)
_changing = st.builds(Change, st.lists(st.sampled_from(["f0", "f1", "f2"]), max_size=2))
_plain = st.one_of(
    st.builds(Add, st.integers(0, 1)),
    st.builds(Say),
    st.builds(Talk),
    st.builds(AddFrom, st.just("f0")),
)
_signed = st.dictionaries(
    st.sampled_from(["f0", "f1", "f2", "f3"]),
    st.builds(Fn, st.lists(st.integers(0, 2), max_size=2).map(tuple)),
    max_size=4,
).map(lambda functions: SignedProgram({"f0": Fn((1,)), **functions}))


@law_on(2)
@given(
    workers=st.sampled_from([2, 0]),
    verify=st.sampled_from([0.0, 0.0, 1.0]),
    mods=st.lists(_signed, min_size=2, max_size=3),
    passes=st.lists(st.one_of(_asking, _asking, _changing, _plain), max_size=4),
)
def test_results_that_depend_on_other_functions_are_recalled_where_those_are_the_same(
    runner_with: RunnerWith,
    workers: int,
    verify: float,
    mods: list[SignedProgram],
    passes: list[FunctionPass],
):
    runner = runner_with[workers, verify]
    for mod in mods:
        serial, cached = both(Sequential(passes), mod, list, {}, runner, POOLED)
        assert cached == serial


def test_what_cannot_be_sent_is_told_as_before(runner_with: RunnerWith):
    mod = Program({name: Fn((at,)) for at, name in enumerate(["f0", "f1", "f2"])})
    for _ in range(2):
        for workers in (0, 2):
            serial, cached = both(
                Sequential([TalkAside(), Talk(), TalkAside()]),
                mod,
                list,
                {},
                runner_with[workers, 0.0],
                POOLED,
            )
            assert cached == serial
