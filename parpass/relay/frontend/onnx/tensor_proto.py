"""Tensors and element types of a model, as numpy has them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import uses_external_data

from parpass.errors import FrontendError, MalformedModelError

_NUMBERS = "biufV"  # numpy's kinds; V: bfloat16 and such


def dtype_of(code: int) -> str | None:
    """Return the name of an element type of ONNX; None if it is not a number's."""
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(cast("Any", code))
    except (KeyError, ValueError):
        return None
    return dtype.name if dtype.kind in _NUMBERS else None


def array_of(tensor: onnx.TensorProto, place: str, source: str) -> npt.NDArray[Any]:
    """Return the values of a tensor of the model.

    Raises:
        MalformedModelError: Its shape and its data do not agree.
        FrontendError: It holds no numbers, or they are not with the model.
    """
    if uses_external_data(tensor):
        raise FrontendError(
            f"{place}: the values of tensor '{tensor.name}' are kept outside of the "
            "model; import the model by its path, or load them before by "
            "onnx.load_external_data_for_model",
            source=source,
        )
    try:
        array = np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedModelError(
            f"{place}: tensor '{tensor.name}' cannot be read ({error})", source=source
        ) from error
    if array.dtype.kind not in _NUMBERS:
        raise FrontendError(
            f"{place}: expected numbers in tensor '{tensor.name}', got {array.dtype}",
            source=source,
        )
    return array
