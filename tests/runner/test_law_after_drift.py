"""The law on warm workers from which the program has drifted since they began.

Attributes of the embedded IR's operators are among what drifts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import Runner
from parpass.transform import Sequential
from tests.runner.drifting import MODULE, Drift, Look, load_again
from tests.support.runner.comparing import HOSTS, Watchers, both, instruments, law_on
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import Program
from tests.support.toy.pipelines import pipelines, programs

pytestmark = pytest.mark.slow


def drifts() -> st.SearchStrategy[Drift]:
    """Generate how a process is set for a run."""
    few = st.one_of(st.none(), st.integers(1, 9))
    return st.builds(
        Drift,
        variable=st.one_of(st.none(), st.sampled_from("ab")),
        folder=st.booleans(),
        precision=few,
        digits=few,
        deeper=st.sampled_from([0, 0, 100]),
        answer=few,
        attribute=few,
        level=st.integers(0, 3),
        reloads=st.lists(st.integers(0, 3), max_size=2),
    )


@pytest.mark.parametrize("host", HOSTS)
@law_on(0.6)
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
