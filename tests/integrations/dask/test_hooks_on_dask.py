"""Hooks of instruments: the runner's tests, on a Dask cluster."""

from __future__ import annotations

import pytest

from tests.runner.test_hooks import *  # noqa: F403

pytestmark = pytest.mark.stress
