"""Gradients compared with what small steps make of a function's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError
from parpass.ir.types import TensorType
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.testing import run_infer_type
from parpass.relay.transform import gradient

Array = npt.NDArray[Any]


def check_grad(
    func: Function,
    inputs: Sequence[Array] | None = None,
    test_inputs: Sequence[Array] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
) -> None:
    """Check the gradients of a function by differences of its values.

    Args:
        func: The function.
        inputs: The arguments; None for normally distributed ones.
        test_inputs: Those of them by which to differentiate; None for all.
        eps: Half of the step.
        atol: How far gradients may be away from the differences.
        rtol: The same, relative to them.
        scale: The standard deviation of random arguments; None for ten steps.
        mean: The mean of random arguments.

    Raises:
        AssertionError: They are farther away.
        ArgumentError: There is nothing to differentiate by.
    """
    forward = run_infer_type(func)
    backward = run_infer_type(gradient(forward))
    if inputs is None:
        spread = 10 * eps if scale is None else scale
        inputs = [_random(param.checked_type, spread, mean) for param in forward.params]
    tested = inputs if test_inputs is None else test_inputs
    if not tested:
        raise ArgumentError("expected an input to differentiate by, got none")
    value = create_executor().evaluate(forward)
    run: Any = create_executor().evaluate(backward)
    _, grads = run(*inputs)
    for one in tested:
        at = next(at for at, given in enumerate(inputs) if given is one)
        wanted = _differences(value, inputs, one, eps)
        np.testing.assert_allclose(grads[at].numpy(), wanted, rtol, atol)


def _random(typ: Any, scale: float, mean: float) -> Array:
    tensor = cast("TensorType", typ)
    values = np.random.randn(*tensor.concrete_shape)
    return np.asarray(mean + scale * values).astype(tensor.dtype)


def _differences(value: Any, inputs: Sequence[Array], by: Array, eps: float) -> Array:
    found = np.zeros(by.shape)
    for at in np.ndindex(*by.shape):
        here, ends = by[at], list[Array]()
        for step in (eps, -eps):
            by[at] = here + step
            ends.append(value(*inputs).numpy().astype("float64"))
        by[at] = here
        found[at] = np.sum(ends[0] - ends[1]) / (2 * eps)
    return found
