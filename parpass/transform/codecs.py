"""The codecs that an adapter may have, and what stays out of a function's bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from parpass.diagnostic import Span
from parpass.source import Source
from parpass.transform.relative_lines import ABSOLUTE, LineBase, RelativeLines


class LargeValue(Protocol):
    """A large and rarely read value in a function, such as weights."""

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
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


class PortableCodec(Protocol):
    """Encodes functions for a store on disk, and decodes them as members of a module.

    Decoding must run nothing that the bytes name: no pickles. A decoded function is
    encoded as the same bytes again, in each process, and others that differ for a pass
    are not.
    """

    def encode(self, function: Any, blob_sink: BlobSink) -> bytes | None:
        """Return a function as bytes; None if it stays in memory."""
        ...

    def decode(self, encoded: bytes) -> Any:
        """Return the function that was encoded, with all values in-band.

        Raises:
            Exception: The bytes are damaged, or of another version.
        """
        ...


@runtime_checkable
class PlacedCodec(Protocol):
    """A `PortableCodec` that tells where a function is from what it is.

    The bytes have neither the lines that spans are on nor what references to functions
    show.
    """

    def encode(
        self, function: Any, blob_sink: BlobSink, lines: LineBase = ABSOLUTE
    ) -> bytes | None:
        """Return a function as bytes; None if it stays in memory.

        Args:
            function: The function.
            blob_sink: Takes large values.
            lines: Is asked for each span, and told of each reference to a function.

        Raises:
            ElsewhereError: `lines` has no base for a span.
        """
        ...

    def decode(self, encoded: bytes, lines: RelativeLines | None = None) -> Any:
        """Return the function that was encoded, with all values in-band.

        Args:
            encoded: The bytes.
            lines: Where it is; None if its lines are absolute.

        Raises:
            Exception: The bytes are damaged, or of another version.
        """
        ...

    def encode_reference(self, name: str) -> bytes:
        """Encode what a reference to a function shows of it, but for its place."""
        ...

    def place_in(self, function: Any) -> Span | None:
        """Return a place that a function has; None, at once, if it may have none."""
        ...

    def place_of(self, name: str) -> Span | None:
        """Return the place that a reference to a function shows; None if unknown."""
        ...


class _UnplacedCodec:
    """A codec for which lines are content."""

    def __init__(
        self, codec: PortableCodec, encode_reference: Callable[[str], bytes]
    ) -> None:
        self._codec, self._encode_reference = codec, encode_reference

    def encode(
        self, function: Any, blob_sink: BlobSink, lines: LineBase = ABSOLUTE
    ) -> bytes | None:
        del lines
        return self._codec.encode(function, blob_sink)

    def decode(self, encoded: bytes, lines: RelativeLines | None = None) -> Any:
        del lines
        return self._codec.decode(encoded)

    def encode_reference(self, name: str) -> bytes:
        return self._encode_reference(name)

    def place_in(self, function: Any) -> Span | None:
        del function

    def place_of(self, name: str) -> Span | None:
        del name


def placed_codec(
    codec: PortableCodec | PlacedCodec | None, encode_reference: Callable[[str], bytes]
) -> PlacedCodec | None:
    """Return a codec that tells places apart, if it does; None for none.

    Args:
        codec: That of an adapter.
        encode_reference: Encodes all that a reference to a function shows.
    """
    if codec is None or isinstance(codec, PlacedCodec):
        return codec
    return _UnplacedCodec(codec, encode_reference)
