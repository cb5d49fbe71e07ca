"""Array-likes: numbers, in rows of one length, as callers pass them for arrays."""

from __future__ import annotations

from numbers import Number
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError
from parpass.runtime.dtypes import DTYPES, numpy_dtype

_LONGEST_SHOWN = 60


def as_number_array(
    value: object, what: str, dtype: npt.DTypeLike | None = None
) -> npt.NDArray[Any]:
    """Return a caller's value as an array, itself if it is one of that dtype.

    Args:
        value: The value: an array, a number, nested sequences of numbers.
        what: What it is for, in the words of a message.
        dtype: The dtype that the array has; None for that of the value.

    Raises:
        ArgumentError: It is no array of numbers, or has numbers that are none of the
            dtype; or that is none.
    """
    try:
        array: npt.NDArray[Any] = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"expected numbers, in rows of one length, for {what}, got {_shown(value)}"
        ) from error
    kind = array.dtype.kind
    if kind == "O" and all(map(_is_number, {*map(type, array.flat)})):
        if dtype is None:
            raise ArgumentError(
                f"expected numbers of at most 64 bits for {what}, got {_shown(value)}"
            )
    elif kind not in "biufc" and array.dtype.name not in DTYPES:
        raise ArgumentError(f"expected numbers for {what}, got {_shown(value)}")
    if dtype is None:
        return array
    wanted = _wanted(dtype, what)
    if kind == "c" and wanted.kind != "c":
        raise ArgumentError(
            f"expected numbers of {wanted} for {what}, got {_shown(value)}"
        )
    try:
        return np.asarray(value, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(
            f"expected numbers of {wanted} for {what}, got {_shown(value)} ({error})"
        ) from error


def _wanted(dtype: npt.DTypeLike, what: str) -> np.dtype[Any]:
    try:
        # Some are known to numpy only once the package that has them is imported.
        if isinstance(dtype, str) and dtype in DTYPES:
            return numpy_dtype(dtype)
        return np.dtype(dtype)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"expected a dtype for {what}, got {dtype!r:.40} ({error})"
        ) from error


def _is_number(kind: type[Any]) -> bool:
    """Return whether the values of a class are numbers, as those of `fractions`."""
    if issubclass(kind, np.generic):
        dtype: np.dtype[Any] = np.dtype(cast("Any", kind))
        return dtype.kind in "biufc" or dtype.name in DTYPES
    return issubclass(kind, Number)


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {cast('npt.NDArray[Any]', value).dtype}"
    try:
        text = repr(value)
    except RecursionError:  # a list in itself, or far too deep
        return f"a nested {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
