"""Calls compiled functions: arguments are checked, then C is given their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError, KernelError
from parpass.runtime.dtypes import name_of, numpy_dtype, parts_of
from parpass.runtime.ndarray import NDArray
from parpass.runtime.signature import Parameter, Passed, Signature

Array = npt.NDArray[Any]

_ALIGNED = 64  # bytes: what memory begins at a multiple of
_C_TYPES: dict[str, Any] = {
    "bfloat16": ctypes.c_float,
    "bool": ctypes.c_uint8,
    "float16": ctypes.c_float,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


class Prepared:
    """A call of a compiled function that is ready to be made, again and again.

    It takes about a microsecond besides what the function does: C is given numbers and
    addresses that were made before.

    Args:
        run: The function.
        given: What C passes.
        signature: What the function is.
        used: What these are addresses of, by their names, and what has to stay.
    """

    __slots__ = ("_given", "_run", "_signature", "_used")

    def __init__(
        self,
        run: Callable[..., int],
        given: tuple[Any, ...],
        signature: Signature,
        used: tuple[list[Any], dict[str, Array], Any],
    ) -> None:
        self._run = run
        self._given = given
        self._signature = signature
        self._used = used

    def __call__(self) -> Any:
        """Make the call, and return the number that the function gives, if it does.

        Raises:
            KernelError: It found a fault.
        """
        status = self._run(*self._given)
        signature = self._signature
        if status:
            message = signature.messages[status - 1]
            raise KernelError(f"{message} (in '{signature.symbol}')")
        dtype = signature.result
        if not dtype:
            return None
        return self._used[1]["result"].astype(numpy_dtype(dtype))[()]


class KernelCall:
    """A compiled function as a callable of Python.

    Arrays are numpy's or `NDArray`s, in C order; those that the function writes to are
    changed. An `NDArray` is one that TVM's documents make for a result, such as
    `nd.array(np.zeros(n))`.

    Args:
        signature: What it takes.
        address: Where its code is.
        library: What has to stay loaded for as long.
    """

    def __init__(self, signature: Signature, address: int, library: Any) -> None:
        self.signature = signature
        self._library = library
        self._kinds = [self._c_type(one) for one in signature.passed]
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, *self._kinds)(address)
        self.__name__ = signature.symbol

    def __call__(self, *args: Any) -> Any:
        """Run the function.

        Returns:
            What it gives, a number; None if it gives nothing.

        Raises:
            ArgumentError: The arguments are not those that it takes.
            KernelError: It found a fault, such as a division by 0.
        """
        return self.prepared(args)()

    def prepared(self, args: Sequence[Any], workspace: Array | None = None) -> Prepared:
        """Return a call on arguments that are checked now, to be made again and again.

        Args:
            args: The arguments; the call reads and writes their memory.
            workspace: Memory for the function's own use, if it needs some: at least
                `signature.workspace` bytes, as `aligned_bytes` gives them. Calls that
                are not made at the same time may share it.

        Raises:
            ArgumentError: The arguments are not those that it takes.
        """
        parameters = self.signature.parameters
        if len(args) != len(parameters):
            names = ", ".join(one.name for one in parameters)
            raise ArgumentError(
                f"expected {len(parameters)} arguments ({names}) for "
                f"'{self.__name__}', got {len(args)}"
            )
        lengths: dict[str, int] = {}
        values: list[Any] = []
        for at, parameter in enumerate(parameters):
            take = self._array if parameter.is_array else self._scalar
            values.append(take(at, parameter, args[at]))
            if not parameter.is_array:
                lengths[parameter.name] = values[-1]
        for at, parameter in enumerate(parameters):
            if parameter.shape is not None:
                self._check_shape(at, parameter, values[at], lengths)
        return self._prepared(values, workspace)

    def _prepared(self, values: list[Any], workspace: Array | None) -> Prepared:
        size, dtype = self.signature.workspace, self.signature.result
        own: dict[str, Array] = {}
        if size:
            own["workspace"] = aligned_bytes(size) if workspace is None else workspace
        if dtype:
            own["result"] = np.zeros((), "uint8" if dtype == "bool" else dtype)
        given = tuple(
            kind(_passed(one, values, own))
            for kind, one in zip(self._kinds, self.signature.passed, strict=True)
        )
        return Prepared(self._run, given, self.signature, (values, own, self._library))

    def _c_type(self, one: Passed) -> Any:
        if one.what in ("dimension", "stride"):
            return ctypes.c_int64
        if one.what != "value":
            return ctypes.c_void_p
        return _C_TYPES[self.signature.parameters[one.argument].dtype]

    def _refused(self, at: int, wanted: str, got: str) -> ArgumentError:
        name = self.signature.parameters[at].name
        return ArgumentError(
            f"expected {wanted} for argument {at} ('{name}') of '{self.__name__}', got "
            f"{got}"
        )

    def _array(self, at: int, parameter: Parameter, given: Any) -> Array:
        found = given
        if isinstance(given, NDArray):
            found = given.writable() if parameter.is_written else given.numpy()
        if not isinstance(found, np.ndarray):
            raise self._refused(at, "an array", type(given).__name__)
        array = cast("Array", found)
        dtype = parameter.dtype
        if dtype and not _fits(array, dtype):
            raise self._refused(at, f"an array of {dtype}", str(array.dtype))
        if not array.flags.c_contiguous or not array.flags.aligned:
            raise self._refused(
                at, "an array in C order", "another; numpy.ascontiguousarray makes one"
            )
        if parameter.is_written and not array.flags.writeable:
            raise self._refused(at, "an array to write to", "a read-only one")
        return array

    def _scalar(self, at: int, parameter: Parameter, given: Any) -> Any:
        dtype = numpy_dtype(parameter.dtype)
        is_number = isinstance(given, int | float | np.generic)
        is_fraction = isinstance(given, float | np.floating)
        if not is_number or (dtype.kind in "iub" and is_fraction):
            raise self._refused(at, f"a number of {dtype.name}", f"{given!r:.40}")
        return self._number(at, dtype, cast("Any", given))

    def _number(self, at: int, dtype: np.dtype[Any], given: Any) -> Any:
        if dtype.kind in "iu":
            info: Any = np.iinfo(dtype)
            if not info.min <= int(given) <= info.max:
                raise self._refused(at, f"a number that {dtype.name} has", str(given))
            return int(given)
        return float(given) if dtype.kind != "b" else int(bool(given))

    def _check_shape(
        self, at: int, parameter: Parameter, array: Array, lengths: dict[str, int]
    ) -> None:
        wanted = parameter.shape or ()
        shape = array.shape[: len(wanted)]
        lanes = parts_of(parameter.dtype)[2]
        rank = len(wanted) + (lanes > 1)
        fits = array.ndim == rank and array.shape[len(wanted) :] in ((), (lanes,))
        for length, extent in zip(wanted, shape, strict=False):
            if isinstance(length, str):
                fits &= lengths.setdefault(length, extent) == extent
            elif length is not None:
                fits &= length == extent
        if not fits:
            known = {k: v for k, v in lengths.items() if k in wanted}
            where = f", where {known}" if known else ""
            told = ", ".join("?" if one is None else str(one) for one in wanted)
            raise self._refused(
                at, f"an array of shape ({told}){where}", str(array.shape)
            )


def aligned_bytes(size: int) -> Array:
    """Return memory that is not set, at an address that suits vectors."""
    whole = np.empty(size + _ALIGNED, np.uint8)
    begin = -_address(whole) % _ALIGNED
    return whole[begin : begin + size]


def _passed(one: Passed, values: list[Any], own: dict[str, Array]) -> Any:
    if one.what in own:
        return _address(own[one.what])
    value = values[one.argument]
    if one.what == "data":
        return _address(value)
    if one.what == "dimension":
        return value.shape[one.at]
    if one.what == "stride":
        return value.strides[one.at] // value.itemsize
    return value


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _fits(array: Array, dtype: str) -> bool:
    code, bits, _ = parts_of(dtype)
    wanted = numpy_dtype(name_of(code, bits, 1))
    return array.dtype == wanted or {array.dtype.name, wanted.name} == {"bool", "int8"}
