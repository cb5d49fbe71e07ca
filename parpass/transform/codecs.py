"""The codecs that an adapter may have, and the values that they leave out of band."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

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
