"""Limits of time and memory, skipping and retrying: the runner's tests, on a Dask cluster."""

from __future__ import annotations

import pytest

from tests.runner.test_budgets import *  # noqa: F403

pytestmark = pytest.mark.stress
