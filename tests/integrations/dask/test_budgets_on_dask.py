"""Limits of time and memory, skip and retry: tests of the runner, on a Dask cluster."""

from __future__ import annotations

import pytest

from tests.runner.test_budgets import *  # noqa: F403

pytestmark = pytest.mark.stress


@pytest.fixture
def times_kept() -> int:
    """Return how often a pass that hangs may keep a worker: docs/failures.md."""
    return 3  # Dask's executor has no `withdraw`: once more, by what waits for a worker
