"""Functions as bytes, in batches whose common parts are encoded once.

Small functions that are encoded in succession share a batch, by the `BatchCodec` that
the adapter is in its checked form. To decode one, all before it in the batch are
decoded, so batches are small. A batch holds one function if the function is large, or
if the codec does not encode it along with others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from parpass.runner.ipc.shared_dir import Extent
from parpass.transform import BatchCodec, LargeValue, ModuleAdapter, Source

_FULL_BATCH_BYTES = 16_384  # bytes of a batch, from which it is complete
_ALONE_BYTES = 8_192  # bytes of a function, above which its batch is its own


# A batch in a message, or in a file: its bytes, its functions, and its large values.
PackedBatch = tuple[bytes, int, Sequence[tuple[str, int, int]]]


class FunctionBatch:
    """Some functions as bytes, with references to their large values.

    Attributes:
        payload: The bytes; empty until the batch is complete.
        length: The number of bytes so far.
        count: The number of functions so far.
        blobs: The extents of the large values.
        decoder: The decoder of functions that are not decoded yet; None if there is no
            need for one.
    """

    __slots__ = ("__weakref__", "blobs", "count", "decoder", "length", "payload")

    def __init__(
        self, payload: bytes = b"", count: int = 0, blobs: Iterable[Extent] = ()
    ) -> None:
        self.payload = payload
        self.length = len(payload)
        self.count = count
        self.blobs = list(blobs)
        self.decoder: _BatchDecoder | None = None

    def packed(self) -> PackedBatch:
        """Return the batch, which is complete, as plain values."""
        return self.payload, self.count, self.blobs

    @classmethod
    def unpacked(cls, packed: PackedBatch) -> FunctionBatch:
        """Return the batch from the plain values that `packed` returned."""
        payload, count, blobs = packed
        return cls(payload, count, itertools.starmap(Extent, blobs))


class EncodedFunction(NamedTuple):
    """A function in a batch.

    Attributes:
        batch: The batch.
        at: The index of the function in the batch; None if it was encoded alone.
    """

    batch: FunctionBatch
    at: int | None

    @property
    def size(self) -> int:
        """The approximate size of the function in bytes: its share of the batch."""
        return self.batch.length // self.batch.count


# A function in a message: the number of its batch, and its own.
_PackedPlace = tuple[int, int | None]


class EncodedFunctions(Mapping[int, EncodedFunction]):
    """Functions by index; a message contains each of their batches once."""

    __slots__ = ("_functions",)

    def __init__(self, functions: Mapping[int, EncodedFunction]) -> None:
        self._functions = functions

    def __getitem__(self, index: int) -> EncodedFunction:
        return self._functions[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def packed(self) -> tuple[Sequence[PackedBatch], Mapping[int, _PackedPlace]]:
        """Return the functions as plain values."""
        numbers: dict[FunctionBatch, int] = {}
        places = {
            index: (numbers.setdefault(one.batch, len(numbers)), one.at)
            for index, one in self._functions.items()
        }
        return [one.packed() for one in numbers], places

    @classmethod
    def unpacked(
        cls, batches: Sequence[PackedBatch], places: Mapping[int, _PackedPlace]
    ) -> EncodedFunctions:
        """Return the functions from the plain values that `packed` returned."""
        made = list(map(FunctionBatch.unpacked, batches))
        return cls(
            {
                index: EncodedFunction(made[number], at)
                for index, (number, at) in places.items()
            }
        )


NO_FUNCTIONS = EncodedFunctions({})


class FunctionEncoder:
    """Encodes functions, small ones in batches if they may be `together`.

    Args:
        adapter: The adapter of the functions, in its checked form.
        put: Stores a large value and returns its extent; None if the function is to
            hold it.
        together: Whether functions may share a batch.
    """

    def __init__(
        self,
        adapter: ModuleAdapter,
        put: Callable[[LargeValue], Extent | None],
        *,
        together: bool = True,
    ) -> None:
        self._adapter = adapter
        self._put = put
        self._codec = cast("BatchCodec", adapter) if together else None
        # Of the batch that is not complete; there is none without an encoder.
        self._encode: Callable[[Any], bytes | None] | None = None
        self._batch = FunctionBatch()
        self._chunks: list[bytes] = []
        self._shared = 0  # bytes that its encoder wrote for all of it

    def encode(self, function: Any) -> EncodedFunction:
        """Encode a function; its batch has a payload only after `close`.

        Raises:
            StorageError: There is no room for a large value.
        """
        if self._codec is None:
            return self.encode_alone(function)
        if self._encode is None:
            self._batch, self._chunks, self._shared = FunctionBatch(), [], 0
            self._encode = self._codec.open_encoder(self._blob_sink(self._batch.blobs))
        batch = self._batch
        blobs = len(batch.blobs)
        try:
            chunk = self._encode(function)
        except Exception:  # noqa: BLE001 -- `encode_function` raises it if it must
            chunk = b""
        if chunk is None:
            return self.encode_alone(function)
        # What later functions share does not make a function large, nor a batch full.
        shared = getattr(self._encode, "shared_bytes", 0)
        own = len(chunk) - (shared - self._shared)
        self._shared = shared
        if not chunk or (own > _ALONE_BYTES and batch.count):
            del batch.blobs[blobs:]
            self.close()
            return self.encode_alone(function)
        self._chunks.append(chunk)
        batch.length += len(chunk)
        batch.count += 1
        if batch.length - shared > _FULL_BATCH_BYTES or own > _ALONE_BYTES:
            self.close()
        return EncodedFunction(batch, batch.count - 1)

    def encode_alone(self, function: Any) -> EncodedFunction:
        """Encode a function in a complete batch of its own.

        Raises:
            StorageError: There is no room for a large value.
        """
        extents: list[Extent] = []
        payload = self._adapter.encode_function(function, self._blob_sink(extents))
        return EncodedFunction(FunctionBatch(payload, 1, extents), None)

    def close(self) -> None:
        """Complete the current batch; the next function begins a new one."""
        if self._encode is not None:
            self._batch.payload = b"".join(self._chunks)
            self._encode = None

    def _blob_sink(self, extents: list[Extent]) -> Callable[[LargeValue], int | None]:
        put = self._put  # not `self`, which has the encoder that has this

        def blob_sink(value: LargeValue) -> int | None:
            extent = put(value)
            if extent is None:
                return None
            extents.append(extent)
            return len(extents) - 1

        return blob_sink


def decode(
    encoded: EncodedFunction,
    adapter: ModuleAdapter,
    source_of: Callable[[Extent], Source],
    mod: Any,
) -> Any:
    """Return a function as an object, a member of `mod`.

    Args:
        encoded: The function.
        adapter: The adapter of `mod`.
        source_of: Returns the source of a large value.
        mod: A module.

    Raises:
        BatchDecodeError: A function before it in its batch cannot be decoded.
    """
    batch, at = encoded
    if at is None:
        sources = list(map(source_of, batch.blobs))
        return adapter.decode_function(batch.payload, sources, mod)
    decoder = batch.decoder
    if decoder is None or not decoder.can_decode(at, mod):
        sources = list(map(source_of, batch.blobs))
        decoder = batch.decoder = _BatchDecoder(batch, adapter, sources, mod)
    try:
        function = decoder.decode(at)
    except BaseException:
        batch.decoder = None
        raise
    if decoder.is_exhausted(batch.count):
        batch.decoder = None  # it refers to all that it has decoded
    return function


class BatchDecodeError(Exception):
    """A function cannot be decoded, because one before it in its batch cannot be.

    Attributes:
        at: The number in the batch of the function that cannot be decoded.
        error: The reason.
    """

    def __init__(self, at: int, error: Exception) -> None:
        super().__init__(at, error)
        self.at = at
        self.error = error


class _BatchDecoder:
    """Decodes the functions of a batch, each once, in any order."""

    def __init__(
        self,
        batch: FunctionBatch,
        adapter: ModuleAdapter,
        sources: Sequence[Source],
        mod: Any,
    ) -> None:
        codec = cast("BatchCodec", adapter)
        self._decode = codec.open_decoder(batch.payload, sources, mod)
        self._mod = mod
        self._decoded: dict[int, Any] = {}  # and not returned yet
        self._next = 0

    def can_decode(self, at: int, mod: Any) -> bool:
        return mod is self._mod and (at >= self._next or at in self._decoded)

    def is_exhausted(self, count: int) -> bool:
        return self._next == count and not self._decoded

    def decode(self, at: int) -> Any:
        while self._next < at:
            try:
                self._decoded[self._next] = self._decode()
            except Exception as error:
                raise BatchDecodeError(self._next, error) from error
            self._next += 1
        if self._next > at:
            return self._decoded.pop(at)
        self._next += 1
        return self._decode()
