"""Calls compiled functions: arguments are checked, then C is given a frame of them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError, KernelError
from parpass.runtime.dtypes import name_of, numpy_dtype, parts_of
from parpass.runtime.ndarray import NDArray, address_of
from parpass.runtime.signature import (
    NEXT_ENTRY,
    NEXT_FRAME,
    STATUS,
    VALUES,
    Parameter,
    Passed,
    Signature,
)

Array = npt.NDArray[Any]

_ALIGNED = 64  # bytes: what memory begins at a multiple of
_SLOT = 8  # bytes
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)

# The form of scalars in a slot; floats of 16 bits are passed as float32.
_SCALARS = {
    **dict.fromkeys(("bfloat16", "float16", "float32"), "f4x"),
    "float64": "d",
    "bool": "B7x",
    "int8": "b7x",
    "int16": "h6x",
    "int32": "i4x",
    "int64": "q",
    "uint8": "B7x",
    "uint16": "H6x",
    "uint32": "I4x",
    "uint64": "Q",
}


class Prepared:
    """A call of a compiled function that is ready to be made, again and again.

    It takes a third of a microsecond besides what the function does, since its frame is
    filled before.

    Args:
        kernel: The function.
        frame: Its argument; see `parpass.runtime.signature`.
        used: What the frame has addresses of: arguments, and memory by its name.
    """

    __slots__ = ("_at", "_used", "following", "frame", "kernel")

    def __init__(
        self,
        kernel: KernelCall,
        frame: Array,
        used: tuple[list[Any], dict[str, Array]],
    ) -> None:
        self.kernel = kernel
        self.frame = frame
        self.following: Prepared | None = None
        self._at = ctypes.c_void_p(address_of(frame))
        self._used = used

    def then(self, following: Prepared) -> None:
        """Let C make another call after this one, unless this one finds a fault."""
        self.following = following
        self.frame[NEXT_ENTRY] = following.kernel.address
        self.frame[NEXT_FRAME] = address_of(following.frame)

    def __call__(self) -> Any:
        """Make the call, and return the number that the function gives, if it does.

        Raises:
            KernelError: It found a fault, or one behind it did.
        """
        if self.kernel.run(self._at):
            raise self._fault()
        dtype = self.kernel.signature.result
        if not dtype:
            return None
        return self._used[1]["result"].astype(numpy_dtype(dtype))[()]

    def _fault(self) -> KernelError:
        failed = self
        while not failed.frame[STATUS] and failed.following is not None:
            failed = failed.following
        status, failed.frame[STATUS] = int(failed.frame[STATUS]), 0
        signature = failed.kernel.signature
        message = signature.messages[status - 1]
        return KernelError(f"{message} (in '{signature.symbol}')")


class KernelCall:
    """A compiled function as a callable of Python.

    Arrays are numpy's or `NDArray`s, in C order; those that the function writes to are
    changed. An `NDArray` is one that TVM's documents make for a result, such as
    `nd.array(np.zeros(n))`.

    Args:
        signature: What it takes.
        address: Where its entry is.
        library: What has to stay loaded for as long.
    """

    def __init__(self, signature: Signature, address: int, library: Any) -> None:
        self.signature = signature
        self.address = address
        self.run = _ENTRY(address)
        self._library = library
        self._values = struct.Struct("=" + "".join(map(self._slot, signature.passed)))
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
        frame = np.zeros(VALUES + len(self.signature.passed), np.uint64)
        passed = [_passed(one, values, own) for one in self.signature.passed]
        self._values.pack_into(frame.data, VALUES * _SLOT, *passed)
        return Prepared(self, frame, (values, own))

    def _slot(self, one: Passed) -> str:
        """Return the form of a value in its slot."""
        if one.what in ("dimension", "stride"):
            return "q"
        if one.what != "value":
            return "Q"  # an address
        return _SCALARS[self.signature.parameters[one.argument].dtype]

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
        if dtype.kind == "b":
            return int(bool(given))
        # What float32 has no room for is infinite.
        number = float(given)
        return number if dtype.itemsize == 8 else ctypes.c_float(number).value

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
    begin = -address_of(whole) % _ALIGNED
    return whole[begin : begin + size]


def _passed(one: Passed, values: list[Any], own: dict[str, Array]) -> Any:
    if one.what in own:
        return address_of(own[one.what])
    value = values[one.argument]
    if one.what == "data":
        return address_of(value)
    if one.what == "dimension":
        return value.shape[one.at]
    if one.what == "stride":
        return value.strides[one.at] // value.itemsize
    return value


def _fits(array: Array, dtype: str) -> bool:
    code, bits, _ = parts_of(dtype)
    wanted = numpy_dtype(name_of(code, bits, 1))
    return array.dtype == wanted or {array.dtype.name, wanted.name} == {"bool", "int8"}
