"""Functions of a mutable IR: the runner's tests, on a Dask cluster."""

from __future__ import annotations

import pytest

from tests.runner.test_boxes import *  # noqa: F403

pytestmark = pytest.mark.stress
