"""The codecs that an adapter may have, and the values that they leave out of band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from parpass.source import Source


class LargeValue(Protocol):
    """A large and rarely read value in a function, such as weights."""

    @property
    def nbytes(self) -> int:
        """Its size, in bytes."""
        ...

    @property
    def source(self) -> Source | None:
        """The source that `decode_function` received for it; None for a new value."""
        ...

    def raw(self) -> memoryview:
        """Return its bytes."""
        ...


# Takes a large value out-of-band and returns its index among the sources that the
# decoder receives; returns None for a value that is to be encoded in-band.
BlobSink = Callable[[LargeValue], int | None]


@runtime_checkable
class BatchCodec(Protocol):
    """An optional part of an adapter that encodes small functions in batches.

    The bytes of a function may refer to bytes that the same encoder returned before,
    for names of classes, types and shared parts. Functions are decoded in the order of
    encoding, from the first one up to any other.
    """

    def open_encoder(self, blob_sink: BlobSink) -> Callable[[Any], bytes | None]:
        """Return an encoder, which is called with the functions of a batch in order.

        It returns None for a function that is better encoded alone, by
        `encode_function`. If it raises, that function is encoded alone, and the encoder
        is not called again.
        """
        ...

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Callable[[], Any]:
        """Return a decoder, which returns the next function of a batch at each call.

        The functions are members of `mod`. `encoded` holds the concatenated bytes of
        the batch's first functions, or of all of them.
        """
        ...


class StoreCodec(Protocol):
    """Encodes functions for a store on disk, and decodes them as members of a module.

    Decoding must not run anything that the bytes name, so pickles are not allowed.
    Encoding a decoded function must give the same bytes again, in every process.
    Functions that a pass can tell apart must give different bytes.
    """

    def encode(self, function: Any, blob_sink: BlobSink) -> bytes | None:
        """Return a function as bytes; None to keep it in memory."""
        ...

    def decode(self, encoded: bytes) -> Any:
        """Return the function that was encoded, with all values in-band.

        Raises:
            Exception: The bytes are damaged, or were written by another version.
        """
        ...
