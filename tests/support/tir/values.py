"""Arguments for loop programs, and whether two programs do the same to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from parpass import tir
from parpass.tir.interpreter.evaluation import evaluate

MAX_STEPS = 200_000


def arguments(func: tir.PrimFunc) -> list[Any]:
    """Return an array for each buffer, and a number for each scalar, always alike."""
    found: list[Any] = []
    for at, param in enumerate(func.params):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            found.append(at - 1)
            continue
        shape = tuple(int(dim) for dim in buffer.shape)
        size = int(np.prod(shape))
        values = (np.arange(size) * 7 + at) % 11 - 5
        found.append(values.reshape(shape).astype(buffer.dtype))
    return found


def assert_same_values(before: tir.PrimFunc, after: tir.PrimFunc) -> None:
    """Run both functions on the same arguments, and compare to the bit."""
    expected, got = arguments(before), arguments(before)
    assert evaluate(after, got, max_steps=MAX_STEPS) == evaluate(
        before, expected, max_steps=MAX_STEPS
    )
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
