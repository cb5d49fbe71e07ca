"""The law: a parallel run gives what the serial run gives."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.module import IRModule
from parpass.runner import Runner
from parpass.transform import Pass, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.conftest import RunnerOf
from tests.support.comparing import (
    HOSTS,
    Told,
    Watchers,
    both,
    check_relay,
    context_settings,
    instruments,
    law_on,
)
from tests.support.drifting import MODULE, Drift, Look, drifts, load_again
from tests.support.pooled import POOLED
from tests.support.programs import modules
from tests.support.relay_pipelines import relay_pipelines
from tests.support.toy_ir import Program, program
from tests.support.toy_passes import Add, AddFrom, FailOn, Say
from tests.support.toy_pipelines import pipelines, programs
from tests.support.watching import Blind

# The form for every day; PARPASS_LAW_EXAMPLES=2000 is a good night's work.
EXAMPLES = int(os.environ.get("PARPASS_LAW_EXAMPLES", "60"))
law = law_on(EXAMPLES)

pytestmark = pytest.mark.slow

WORKERS = [1, 2, 4]


@pytest.mark.parametrize("workers", WORKERS)
@law
@given(
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


@pytest.mark.parametrize("workers", WORKERS)
@law
@given(mod=modules(), pipeline=relay_pipelines(), watched=st.booleans())
def test_relay_modules_come_out_of_workers_as_out_of_the_serial_run(
    runner_of: RunnerOf,
    workers: int,
    mod: IRModule,
    pipeline: Sequential,
    watched: bool,
):
    make = Told if watched else Blind
    check_relay(pipeline, mod, lambda: [make()], runner_of(workers), POOLED)


@pytest.mark.parametrize("host", HOSTS)
@law_on(max(10, EXAMPLES // 5))
@given(
    mod=programs(),
    pipeline=pipelines(),
    at=st.integers(0, 3),
    make=instruments(),
    drift=drifts(),
)
def test_the_law_holds_from_everywhere_on_warm_workers_that_have_drifted(
    runner: Runner,
    drift_folder: Path,
    host: str,
    mod: Program,
    pipeline: Sequential,
    at: int,
    make: Watchers,
    drift: Drift,
):
    passes = [one for one in pipeline.passes if one is not None]
    passes.insert(min(at, len(passes)), Look())
    with drift.in_force(drift_folder):
        serial, parallel = both(
            Sequential(passes), mod, make, {}, runner, POOLED, HOSTS[host]
        )
    assert parallel == serial


@pytest.fixture(scope="module")
def drift_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder in which modules are found, one of which is loaded again."""
    folder = tmp_path_factory.mktemp("drift")
    sys.path.insert(0, str(folder))
    load_again(folder, 0)
    yield folder
    sys.path.remove(str(folder))
    del sys.modules[MODULE]  # else workers try to load it again for tests to come


def test_the_law_holds_over_more_passes_than_go_together(runner: Runner):
    passes: list[Pass] = [Add(1), Say(), AddFrom("f1")] * 7
    failing = [*passes, FailOn(16), *passes]
    for root in (Sequential(passes), Sequential(failing)):
        serial, parallel = both(
            root, program(*range(4)), lambda: [Blind()], {}, runner, POOLED
        )
        assert parallel == serial
