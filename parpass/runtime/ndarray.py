"""Arrays inside constants: read-only, compared by content, cheap when uniform."""

from __future__ import annotations

import functools
import hashlib
import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError
from parpass.runtime.array_like import as_number_array
from parpass.runtime.devices import Device, cpu, device
from parpass.source import Source

__all__ = ["Device", "NDArray", "array", "cpu", "device"]  # TVM's `nd` has these

_CHUNK = 1 << 16  # bytes that are compared at a time

_HASH_SAMPLE = 256


class _GivenUp(np.ndarray[Any, Any]):
    """Memory that is a constant's own: its maker has given it up."""


class NDArray:
    """A read-only array, the data of a `Constant`.

    Its elements are in row-major order and native byte order, as in TVM, and as after
    pickling: numpy may round differently in another layout. An array that repeats one
    value (from `np.full` or `np.broadcast_to`) is kept as that value with zero strides,
    so it takes no memory and no transfer, however large its shape is. In a worker, a
    large array is fetched when its values are read.

    The array owns its memory, and no array flag makes it writable.

    Args:
        array: The values. They are copied, unless they are in row-major order in
            read-only memory, such as `bytes` or a file mapped for reading.

    Attributes:
        source: The source of the values, if they are in another process.

    Raises:
        ArgumentError: The values are not numbers, or are in rows of different lengths.
    """

    __slots__ = ("__weakref__", "_array", "_dtype", "_own", "_shape", "source")

    def __init__(self, array: npt.ArrayLike) -> None:
        self._take(_locked(as_number_array(array, "an array"), is_given_up=False))

    def _take(self, array: npt.NDArray[Any]) -> None:
        self._array: npt.NDArray[Any] | None = array
        self._own: npt.NDArray[Any] | None = None
        self._shape = array.shape
        self._dtype = array.dtype
        self.source: Source | None = None

    @classmethod
    def owning(cls, array: npt.NDArray[Any]) -> NDArray:
        """Return an array that takes over the memory of an array."""
        made = cls.__new__(cls)
        made._take(_locked(array, is_given_up=True))  # noqa: SLF001 -- its own class
        return made

    @classmethod
    def from_source(cls, source: Source, shape: tuple[int, ...], dtype: str) -> NDArray:
        """Return an array whose values are fetched on first use."""
        array = cls.__new__(cls)
        array._array, array._shape = None, shape  # noqa: SLF001 -- its own class
        array._own = None  # noqa: SLF001 -- its own class
        array._dtype = np.dtype(dtype)  # noqa: SLF001 -- its own class
        array.source = source
        return array

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._shape

    @property
    def dtype(self) -> str:
        """The name of the element type, such as `float32`."""
        return _name(self._dtype)

    @property
    def device(self) -> Device:
        """The device that holds the values: the processor."""
        return cpu()

    @property
    def nbytes(self) -> int:
        """The size of the values written out, in bytes."""
        return math.prod(self._shape) * self._dtype.itemsize

    @property
    def is_uniform(self) -> bool:
        """Whether this is one value, repeated without taking memory."""
        return self._array is not None and _repeats_one_value(self._array)

    @property
    def typestr(self) -> str:
        """The element type with its byte order, as numpy's array interface has it."""
        return self._dtype.str

    @property
    def is_plain(self) -> bool:
        """Whether the values are plain bytes, of a type that `typestr` alone tells."""
        return np.dtype(self._dtype.str) == self._dtype and not self._dtype.hasobject

    def numpy(self) -> npt.NDArray[Any]:
        """Return the values as a read-only numpy array that shares their memory."""
        if self._array is None:
            assert self.source is not None
            flat = np.frombuffer(self.source.fetch(), self._dtype)
            self._array = flat.reshape(self._shape)
        return self._array

    asnumpy = numpy

    def writable(self) -> npt.NDArray[Any]:
        """Return the values for a compiled function to write its result to.

        They belong to this array from then on; earlier results of `numpy` do not
        change. An array of a program is never passed to such a function as a result.
        """
        if self._own is None:
            self._own = np.array(self.numpy())
            self._array = _locked(self._own, is_given_up=True)
            self.source = None
        return self._own

    def raw(self) -> memoryview:
        """Return the bytes of the values in row-major order."""
        return _bits(self.numpy(), "u1").data

    def same_content(self, other: NDArray) -> bool:
        """Return whether shape, dtype and all values are the same, bit by bit."""
        if self is other:
            return True
        if self._shape != other._shape or self._dtype != other._dtype:
            return False
        mine, theirs = self.numpy(), other.numpy()
        if mine.strides == theirs.strides and address_of(mine) == address_of(theirs):
            return True
        if self.is_uniform and other.is_uniform:
            return mine.flat[0].tobytes() == theirs.flat[0].tobytes()
        as_bits = f"V{mine.dtype.itemsize}"  # so that a NaN equals itself
        return bool(np.array_equal(_bits(mine, as_bits), _bits(theirs, as_bits)))

    def digest(self) -> bytes:
        """Return a digest of shape, dtype and values, the same in every process."""
        array = self.numpy()
        state = hashlib.blake2b(f"{array.shape}{array.dtype.str}".encode())
        if _is_one_value(array):  # also one that is written out, as they are equal
            state.update(array.flat[0].tobytes())
        else:
            state.update(_bits(array, "u1").data)
        return state.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NDArray) and self.same_content(other)

    def __hash__(self) -> int:
        # Of evenly spaced values, for a large array is hashed often; `digest` has all.
        array = self.numpy()
        step = max(1, array.size // _HASH_SAMPLE)
        return hash((array.shape, array.dtype, array.flat[::step].tobytes()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.is_uniform:
            value = self.numpy().flat[0]
            return _uniform, (np.asarray(value), self._shape)
        return _owned, (self.numpy(),)

    def __repr__(self) -> str:
        return f"NDArray(shape={self.shape}, dtype={self.dtype})"


def array(arr: npt.ArrayLike | NDArray, device: Device | None = None) -> NDArray:
    """Return an array with a copy of these values.

    Raises:
        ArgumentError: The device is not the processor, or the values are not numbers in
            rows of one length.
    """
    if device is not None and not device.exist:
        raise ArgumentError(f"expected device cpu(0), got {device}")
    if isinstance(arr, NDArray):
        return arr
    return NDArray.owning(np.array(as_number_array(arr, "an array")))


@functools.cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name  # which numpy works out anew each time


def _owned(array: npt.NDArray[Any]) -> NDArray:
    return NDArray.owning(array)


def _uniform(value: npt.NDArray[Any], shape: tuple[int, ...]) -> NDArray:
    return NDArray(np.broadcast_to(value, shape))


def _locked(array: npt.NDArray[Any], *, is_given_up: bool) -> npt.NDArray[Any]:
    """Return a read-only array of these values, in native byte order.

    It is in row-major order, or repeats one value. numpy makes an array writable whose
    memory is that of another array; so the memory is given as a buffer to be read.

    Args:
        array: The values.
        is_given_up: Whether the caller gives up the array, so that its memory does.
    """
    if not array.dtype.isnative:
        array, is_given_up = array.astype(array.dtype.newbyteorder("=")), True
    shape, dtype = array.shape, array.dtype
    if _repeats_one_value(array):
        return np.ndarray(shape, dtype, array.flat[0].tobytes(), strides=array.strides)
    if not array.flags.c_contiguous:
        array, is_given_up = np.ascontiguousarray(array), True
    if not _can_be_written(array):
        # Such strides go by the shape alone.
        return array.reshape(-1).reshape(shape)
    if not (is_given_up and array.size):
        return np.ndarray(shape, dtype, array.tobytes())
    memory = _bits(array, "u1").view(_GivenUp).data.toreadonly()
    return np.frombuffer(memory, dtype).reshape(shape)


def _can_be_written(array: npt.NDArray[Any]) -> bool:
    """Return whether the memory of an array can be made writable, by any flag."""
    memory: Any = array
    while isinstance(memory, np.ndarray | memoryview):
        if isinstance(memory, _GivenUp):
            return False
        # A view to read may be of what can be written.
        above = "obj" if isinstance(memory, memoryview) else "base"
        memory = getattr(cast("Any", memory), above)
    try:
        return memory is None or not memoryview(memory).readonly
    except (TypeError, BufferError):  # a library told numpy the address alone
        return True


def _repeats_one_value(array: npt.NDArray[Any]) -> bool:
    return array.size > 1 and not any(array.strides)


def _is_one_value(array: npt.NDArray[Any]) -> bool:
    """Return whether all values are the same, bit by bit."""
    if array.size < 2 or _repeats_one_value(array):
        return array.size > 1
    raw, size = _bits(array, "u1"), array.dtype.itemsize
    here, next_ones = raw[:-size], raw[size:]
    chunks = [slice(at, at + _CHUNK) for at in range(0, here.size, _CHUNK)]
    return all(np.array_equal(here[one], next_ones[one]) for one in chunks)


def address_of(array: npt.NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


def _bits(array: npt.NDArray[Any], as_bits: str) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array).reshape(-1).view(as_bits)
