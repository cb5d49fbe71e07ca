"""The law: tests of the runner, on a Dask cluster."""

from __future__ import annotations

import pytest

from tests.runner.test_law import *  # noqa: F403

pytestmark = pytest.mark.stress
