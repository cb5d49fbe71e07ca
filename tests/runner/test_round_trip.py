"""Where the codec of an IR shows, and its adapter says so, the law holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.instrument import PassInstrument
from parpass.runner import Runner
from parpass.transform import Pass, PassContext, PassInfo, Sequential, module_pass
from tests.support.runner.pooled import POOLED, run_pooled
from tests.support.toy.counting_ir import (
    Counted,
    Drop,
    DropAll,
    Look,
    Names,
    New,
    NextOf,
    Shown,
    ShownAdapter,
    following_of,
)

# Functions of which the caller knows more than their bytes tell.
MOD = Counted({"f": Names((0,), 7), "g": Names((0, 1, 2), 3), "h": Names((), 0)})

PASSES: list[Pass] = [New(), Drop(), NextOf("f"), Look(), DropAll()]
PIPELINES = st.lists(st.sampled_from(PASSES), max_size=8)


@pytest.mark.slow
@given(PIPELINES, st.booleans())
def test_every_way_to_run_a_pipeline_gives_what_the_serial_run_gives(
    runner: Runner, passes: list[Pass], watched: bool
):
    pipeline = Sequential(passes)
    expected = pipeline(MOD)
    hooks = [PassInstrument()] if watched else []
    with PassContext(instruments=hooks):
        alone = runner.run_sync(MOD, pipeline)
    there = run_pooled(runner, pipeline, MOD, instruments=hooks)
    assert alone == there == expected
    assert following_of(alone) == following_of(there) == following_of(expected)
    again = pipeline(expected)
    assert run_pooled(runner, pipeline, there) == again
    one_by_one = MOD
    for a_pass in passes:
        one_by_one = a_pass(one_by_one)
    assert one_by_one == expected


def test_without_the_flag_a_module_pass_between_two_function_passes_shows_the_codec(
    runner: Runner,
):
    mod = Shown({"f": Names.of(0)})
    pipeline = Sequential([New(), DropAll(), New()])
    assert pipeline(mod).functions["f"].numbers == (0, 2)
    assert run_pooled(runner, pipeline, mod).functions["f"].numbers == (0, 1)


def test_what_a_module_pass_is_given_and_gives_has_been_through_the_codec():
    given: list[dict[str, int]] = []

    @module_pass(opt_level=0)
    def look(mod: Counted, _ctx: PassContext) -> Counted:
        given.append(following_of(mod))
        return mod

    made = Sequential([look, New(), Drop(), DropAll(), look])(MOD)
    assert given == [{"f": 1, "g": 3, "h": 0}, {"f": 1, "g": 2, "h": 1}]
    assert following_of(made) == given[-1]


async def _async_drop(mod: Counted, _ctx: PassContext) -> Counted:
    return DropAll().transform_module(mod, _ctx)


def test_so_has_what_an_async_module_pass_gives(runner: Runner):
    drop = module_pass(_async_drop, opt_level=0)
    assert following_of(runner.run_sync(MOD, drop)) == {"f": 1, "g": 2, "h": 0}


@pytest.mark.parametrize("config", [{}, POOLED])
def test_instruments_see_what_has_been_through_the_codec(
    runner: Runner, config: dict[str, float]
):
    seen: list[dict[str, int]] = []

    class Watch(PassInstrument):
        def run_before_pass(self, mod: Counted, info: PassInfo) -> None:
            seen.append(following_of(mod))

    with PassContext(instruments=[Watch()], config=config):
        runner.run_sync(MOD, [Drop(), New()])
    assert seen[1:] == [{"f": 1, "g": 3, "h": 0}, {"f": 1, "g": 2, "h": 0}]


def test_a_function_that_no_pass_changes_is_made_once(runner: Runner):
    mod = Counted({"f": Names((0,), 7)})
    assert following_of(Drop()(mod)) == following_of(run_pooled(runner, Drop(), mod))
    assert following_of(Drop()(mod)) == {"f": 1}
    assert following_of(mod) == {"f": 7}


def test_the_flag_may_be_set_after_a_first_run(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    mod = Shown({"f": Names.of(0)})
    pipeline = Sequential([New(), DropAll(), New()])
    assert pipeline(mod).functions["f"].numbers == (0, 2)
    monkeypatch.setattr(ShownAdapter, "round_trip_between_passes", True)
    assert pipeline(mod).functions["f"].numbers == (0, 1)
    assert run_pooled(runner, pipeline, mod).functions["f"].numbers == (0, 1)
