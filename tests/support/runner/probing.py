"""Probes that run functions together at once, as they do with many brief ones."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from unittest.mock import patch

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver import probe


@contextlib.contextmanager
def probing_together(batch: int = 16) -> Generator[None]:
    """Have stages be probed, the first function alone and so many others at once."""
    together = patch.multiple(
        probe,
        _BATCH=batch,
        _LARGEST_BATCH=batch,
        _ALWAYS_COUNTED=1,
        _BRIEF_SECONDS=60.0,
    )
    of_unknown_cost = patch.object(type(COST_MODEL), "of", return_value=None)
    with together, of_unknown_cost:
        yield
