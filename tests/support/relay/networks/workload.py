"""A network with random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.types import TensorType
from parpass.relay.expr import Function
from parpass.relay.transform import InferType
from parpass.runtime.ndarray import NDArray

Initializer = Callable[[str, npt.NDArray[Any]], None]

_ONES = ("gamma", "var")
_ZEROS = ("bias", "beta", "mean")


def create_workload(
    net: Function, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return a module with `net` for `main`, and values for its weights by name.

    Every parameter but `data` is a weight. What its name ends in says how it begins:
    `..._weight` random, `..._gamma` and `..._var` as 1, `..._bias`, `..._beta` and
    `..._mean` as 0.

    Args:
        net: The function.
        initializer: Called with the name and the array of each weight, zeros, to fill
            it; None for the rule above.
        seed: Of the random numbers. The same gives the same weights.

    Raises:
        IRTypeError: A parameter is no tensor of known shape, or its name says nothing.
    """
    mod = InferType()(IRModule.from_expr(net))
    fill = initializer or _Xavier(seed)
    params: dict[str, NDArray] = {}
    for param in mod["main"].params:
        name = param.name_hint
        if name == "data":
            continue
        kind = param.checked_type
        if not isinstance(kind, TensorType) or not all(
            isinstance(dim, int) for dim in kind.shape
        ):
            raise IRTypeError(
                f"expected a tensor of known shape for parameter '{name}', got {kind}"
            )
        array = np.zeros(cast("tuple[int, ...]", kind.shape), kind.dtype)
        fill(name, array)
        params[name] = NDArray(array)
    return mod, params


class _Xavier:
    """Uniform weights whose variance fits how many values each is summed with.

    Source: Glorot and Bengio, Understanding the difficulty of training deep
    feedforward neural networks, 2010; as in TVM with half of the fans' sum.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, name: str, array: npt.NDArray[Any]) -> None:
        if name.endswith(_ONES):
            array[...] = 1
        elif name.endswith("weight") and array.ndim > 1:
            area = math.prod(array.shape[2:])
            fans = (array.shape[0] + array.shape[1]) * area
            bound = math.sqrt(6 / max(fans, 1))
            array[...] = self._random.uniform(-bound, bound, array.shape)
        elif not name.endswith(_ZEROS):
            ends = ", ".join(("weight", *_ONES, *_ZEROS))
            raise IRTypeError(
                f"expected a parameter whose name ends in one of {ends}, got '{name}' "
                f"of shape {array.shape}; give an initializer"
            )
