"""Where a worker ends or hangs, and how: tests of the runner, on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner import Runner
from parpass.runner.pool import failure_attribution
from tests.runner.test_crash_sites import (
    LIMITS,
    test_a_function_that_cannot_be_unpickled_in_a_worker_has_the_run_stay_here,
    test_a_pass_that_cannot_be_loaded_in_a_worker_is_run_in_this_process,
    test_a_result_that_cannot_be_pickled_is_made_in_this_process,
    test_a_suspect_may_ask_for_a_function_that_is_not_packed_yet,
    test_a_worker_that_dies_on_idle_is_replaced_silently,
    test_in_a_pass_the_function_and_the_pass_are_named,
    test_while_a_function_is_unpickled_it_is_named,
    test_while_a_result_is_pickled_its_pass_is_named,
    test_workers_that_die_while_they_load_a_pass_are_no_functions_fault,
    test_workers_that_hang_while_they_load_a_pass_are_ended,
)
from tests.support.pooled import folders, pooled
from tests.support.toy_ir import program, values_of
from tests.support.toy_passes import Add

pytestmark = pytest.mark.stress

__all__ = [
    "test_a_function_that_cannot_be_unpickled_in_a_worker_has_the_run_stay_here",
    "test_a_pass_that_cannot_be_loaded_in_a_worker_is_run_in_this_process",
    "test_a_result_that_cannot_be_pickled_is_made_in_this_process",
    "test_a_suspect_may_ask_for_a_function_that_is_not_packed_yet",
    "test_a_worker_that_dies_on_idle_is_replaced_silently",
    "test_in_a_pass_the_function_and_the_pass_are_named",
    "test_while_a_function_is_unpickled_it_is_named",
    "test_while_a_result_is_pickled_its_pass_is_named",
    "test_workers_that_die_while_they_load_a_pass_are_no_functions_fault",
    "test_workers_that_hang_while_they_load_a_pass_are_ended",
]


@pytest.fixture
def whole(runner: Runner) -> Iterator[Runner]:
    """Give the runner on the cluster; afterwards it still works."""
    before = folders()
    yield runner
    assert folders() <= before
    after = runner.run_sync(program(1, 2, 3), Add(1), context=pooled())
    assert values_of(after) == values_of(program(2, 3, 4))


@pytest.fixture(autouse=True)
def _on_the_way_no_longer_than_in_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_attribution, "TRANSFER_SECONDS", LIMITS["hang"])
