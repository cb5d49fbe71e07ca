"""Probes that decide at once what they decide after many functions elsewhere."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator
from unittest.mock import patch

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver import probe
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.transform.plan import serial


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


@contextlib.contextmanager
def settling(after: int, leaving: tuple[int, int] | None = None) -> Generator[None]:
    """Have probed stages go on pass by pass after so many functions.

    If no instrument watches them they do so in one go, though tests have a renderer.

    Args:
        after: How many functions all passes run on before.
        leaving: The pass, of those that go on, and the function, of those that they go
            on with, at which the rest is handed over; None if it never is.
    """
    begin = probe.HandoverCriterion.begin
    begins: dict[probe.HandoverCriterion, int] = {}
    passes = itertools.count()  # that go on in this stage
    current = -1

    def begun(self: probe.HandoverCriterion, functions: int) -> None:
        nonlocal current
        begin(self, functions)
        begins[self] = begins.get(self, 0) + 1
        if begins[self] > 1:
            current = next(passes)

    def look(
        self: probe.HandoverCriterion, at: int, held: FunctionHandle
    ) -> probe.Look:
        nonlocal passes
        del held
        if begins[self] == 1:  # all passes on a function
            passes = itertools.count()
            return probe.Look(1, is_small=at >= after)
        return probe.Look(int((current, at) != leaving))

    with (
        patch.multiple(probe.HandoverCriterion, begin=begun, look=look),
        patch.object(type(COST_MODEL), "of", return_value=None),
        patch.object(serial, "renderer_is_overridden", return_value=False),
    ):
        yield
