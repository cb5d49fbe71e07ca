"""Kernels that numpy computes: primitive functions that have no rule of lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import evaluate


def by_numpy(function: Function) -> Callable[..., None]:
    """Return what runs a primitive function as a kernel is run.

    It takes an array for each parameter, then those that the results are put into: so
    it can be registered as a PackedFunc, in the place of a compiled one.
    """
    count = len(function.params)

    def run(*arrays: Any) -> None:
        values = [np.asarray(one) for one in arrays[:count]]
        found: Any = evaluate(function, values)
        results: Sequence[Any] = (
            cast("Sequence[Any]", found) if isinstance(found, tuple) else (found,)
        )
        if len(results) != len(arrays) - count:
            raise EvaluationError(
                f"expected {count} arrays and {len(results)} for the results, got "
                f"{len(arrays)}"
            )
        for into, result in zip(arrays[count:], results, strict=True):
            np.copyto(into, result)

    return run
