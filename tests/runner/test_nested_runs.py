"""Pipelines that are run within a run: by a pass body, or by an adapter."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from typing import Any

import pytest
import trio

from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    Sequential,
    register_adapter,
)
from tests.runner.nesting_ir import (
    Grow,
    Nesting,
    NestingAdapter,
    Number,
    run_inner,
)
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.watching import RemarkLog

CODEC = ["encode_function", "decode_function", "encode_shell", "decode_shell"]
ADVICE = ["size", "signature", "keeps_signature", "discard"]
PLACES: dict[str, dict[str, Any]] = {
    "here": HERE,
    "pooled": POOLED,
    "isolated": {"parpass.isolated": True},
}


GIVEN = Nesting({f"f{at}": Number(at + 1) for at in range(4)})
PIPELINE = Sequential([Grow(), Grow()])


def all_of(runner: Runner | None, config: dict[str, Any]) -> Any:
    """Return what comes of a run: functions, callbacks, counters, warnings."""
    log = RemarkLog()
    with (
        warnings.catch_warnings(record=True) as told,
        PassContext(instruments=[log], config=config) as context,
    ):
        warnings.simplefilter("always")
        made = PIPELINE(GIVEN) if runner is None else runner.run_sync(GIVEN, PIPELINE)
    return made, log.log, context.statistics, [str(one.message) for one in told]


@pytest.mark.slow
@pytest.mark.parametrize("method", CODEC)
@pytest.mark.parametrize("place", PLACES)
def test_a_pipeline_that_a_codec_runs_is_its_own_affair(
    runner: Runner, place: str, method: str
):
    with registering_for_a_while():
        register_adapter(Nesting, NestingAdapter(method))
        serial = all_of(None, {})
        assert serial[2] == {"Grow": Counter(grown=8)}
        assert all_of(runner, PLACES[place]) == serial


@pytest.mark.parametrize("method", ADVICE)
@pytest.mark.parametrize("place", PLACES)
def test_other_methods_can_run_a_pipeline_too(runner: Runner, place: str, method: str):
    with registering_for_a_while():
        register_adapter(Nesting, NestingAdapter(method))
        made = runner.run_sync(
            GIVEN, PIPELINE, context=PassContext(config=PLACES[place])
        )
        assert made == PIPELINE(GIVEN)


class RunInner(FunctionPass):
    """Runs a pipeline in its body, which blocks the event loop, if there is one."""

    pass_info = PassInfo(0, "RunInner")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        run_inner()
        return func.with_values((0,))


def test_a_body_runs_a_pipeline_also_on_an_event_loop():
    async def main() -> Program:
        return RunInner()(program(1))

    for made in (trio.run(main), asyncio.run(main())):
        assert values_of(made) == {"f0": (0,)}
