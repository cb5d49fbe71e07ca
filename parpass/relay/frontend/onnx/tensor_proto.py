"""Tensors and element types of a model, as numpy has them."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import uses_external_data

from parpass.errors import FrontendError, MalformedModelError

_NUMBERS = "biufV"  # numpy's kinds; V: bfloat16 and such
_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
# Of elements of less than a byte, several of which are in each.
_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def dtype_of(code: int) -> str | None:
    """Return the name of an element type of ONNX; None if it is not numeric."""
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(cast("Any", code))
    except (KeyError, ValueError):
        return None
    return dtype.name if dtype.kind in _NUMBERS else None


def array_of(tensor: onnx.TensorProto, place: str, source: str) -> npt.NDArray[Any]:
    """Return the values of a tensor of the model.

    Raises:
        MalformedModelError: Its shape and its data do not agree, or it says something
            that its element type does not have.
        FrontendError: It holds no numbers, or they are not with the model.
    """
    if uses_external_data(tensor):
        raise FrontendError(
            f"{place}: the values of tensor '{tensor.name}' are stored outside of the "
            "model; import the model by its path, or load them first with "
            "onnx.load_external_data_for_model",
            source=source,
        )
    fault = shape_fault(tensor) or _data_fault(tensor)
    try:
        array = np.asarray(numpy_helper.to_array(tensor)) if not fault else np.empty(0)
    except (ValueError, TypeError, KeyError) as error:
        fault = f"cannot be read ({error})"
        raise MalformedModelError(
            f"{place}: tensor '{tensor.name}' {fault}", source=source
        ) from error
    if fault:
        raise MalformedModelError(
            f"{place}: tensor '{tensor.name}' {fault}", source=source
        )
    if array.dtype.kind == "b":  # whatever its bytes are
        array = array.view(np.uint8) != 0
    if array.dtype.kind not in _NUMBERS:
        raise FrontendError(
            f"{place}: expected numbers in tensor '{tensor.name}', got {array.dtype}",
            source=source,
        )
    return array


def shape_fault(tensor: onnx.TensorProto) -> str:
    """Return what is wrong with the shape of a tensor, nothing if all is well."""
    if any(dim < 0 for dim in tensor.dims):
        return (
            f"has a negative dimension: its shape is {[*tensor.dims]}; only the shapes "
            "of inputs, outputs and values between may leave dimensions open, as -1"
        )
    return ""


def _data_fault(tensor: onnx.TensorProto) -> str:
    """Return what is wrong with the values of a tensor, as they are stored."""
    typed = [name for name in _FIELDS if len(getattr(tensor, name))]
    has_raw = tensor.HasField("raw_data")
    raw_bytes = len(tensor.raw_data)  # which copies them
    if len(typed) + (raw_bytes > 0) > 1:
        fields = " and ".join([*typed, "raw_data"] if has_raw else typed)
        return f"has values in {fields}; expected them in one of these"
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    except (KeyError, ValueError):
        return ""  # said by the reader
    count, unit = math.prod(tensor.dims), "values"
    given = sum(len(getattr(tensor, name)) for name in typed)
    if has_raw:
        count *= _BITS.get(dtype.name, 8 * dtype.itemsize)
        count, given, unit = -(-count // 8), raw_bytes, "bytes of values"
    elif dtype.name in _BITS or dtype.kind == "c":
        given = count  # several to a number, or of two: the reader counts them
    if given != count and dtype.kind != "O":
        return (
            f"has {given} {unit}; expected {count} for the shape {[*tensor.dims]} of "
            f"{dtype.name}"
        )
    if dtype.kind in "iu" and dtype.itemsize < 4 and dtype.name not in _BITS:
        limits = np.iinfo(dtype)
        for value in tensor.int32_data:
            if not limits.min <= value <= limits.max:
                return f"has the value {value}, which {dtype.name} cannot hold"
    return ""
