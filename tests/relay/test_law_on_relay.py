"""The law on Relay: a parallel run gives what the serial run gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.module import IRModule
from parpass.transform import Sequential
from tests.conftest import RunnerOf
from tests.support.relay.comparing import check_relay
from tests.support.relay.pipelines import relay_pipelines
from tests.support.relay.programs import modules
from tests.support.runner.comparing import Told, law_on
from tests.support.runner.pooled import POOLED
from tests.support.watching import Blind


@pytest.mark.slow
@law_on(3)
@given(
    workers=st.sampled_from([2, 1, 4]),
    mod=modules(),
    pipeline=relay_pipelines(),
    watched=st.booleans(),
)
def test_relay_modules_come_out_of_workers_as_out_of_the_serial_run(
    runner_of: RunnerOf,
    workers: int,
    mod: IRModule,
    pipeline: Sequential,
    watched: bool,
):
    make = Told if watched else Blind
    check_relay(pipeline, mod, lambda: [make()], runner_of(workers), POOLED)
