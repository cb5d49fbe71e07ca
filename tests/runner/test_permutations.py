"""Whatever order jobs end in, and whenever workers die: the run is the serial one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import other_failures
from parpass.runner import open_runner
from parpass.transform import Sequential
from parpass.transform.config import OPTIMIZATIONS
from tests.runner.switching import switches
from tests.support.profiles import examples
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import POOLED, pooled
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, FailOn
from tests.support.toy.pipelines import pipelines, programs, see
from tests.support.watching import Log

pytestmark = pytest.mark.slow


@given(
    mod=programs(),
    pipeline=pipelines(),
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 4),
    deaths=st.integers(0, 3),
    given_switches=switches(),
)
@examples(2)
def test_no_order_and_no_death_shows(
    mod: Program,
    pipeline: Sequential,
    seed: int,
    workers: int,
    deaths: int,
    given_switches: dict[str, Any],
):
    executor = ThreadExecutor(workers, seed, deaths=deaths)
    runner = open_runner(executor=executor)
    told_serially, told = Log(), Log()
    serial = see(pipeline, mod, told_serially)
    parallel = see(
        pipeline,
        mod,
        told,
        run=lambda root, given_mod: runner.run_sync(given_mod, root),
        settings={"config": {**POOLED, OPTIMIZATIONS: given_switches}},
    )
    runner.close()
    executor.close()
    assert parallel == serial
    assert told.log == told_serially.log


@given(failing=st.sets(st.integers(0, 19), min_size=1), seed=st.integers(0, 2**32))
@examples(1)
def test_of_all_failures_the_first_is_raised_and_has_others_in_order(
    failing: set[int], seed: int
):
    mod = program(*(9 if at in failing else 0 for at in range(20)))
    executor = ThreadExecutor(3, seed, deaths=seed % 3)
    runner = open_runner(executor=executor)
    with pytest.raises(ValueError, match="met 10") as caught:
        runner.run_sync(mod, [Add(1), FailOn(10), Add(1)], context=pooled())
    runner.close()
    executor.close()
    errors = [caught.value, *other_failures(caught.value)]
    told = [error.__notes__ for error in errors]
    expected = [[f"in pass 'FailOn', on function 'f{at}'"] for at in sorted(failing)]
    assert told[0] == expected[0]
    assert told == [notes for notes in expected if notes in told]
