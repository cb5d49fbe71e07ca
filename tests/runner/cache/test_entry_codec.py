"""Results in a store on disk: what is damaged is a miss, whatever it is."""

from __future__ import annotations

import weakref
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parpass.diagnostic import Diagnostic, Span
from parpass.remark import Remark, RemarkKind
from parpass.runner.cache.entry_codec import decode_entries, encode_entries
from parpass.runner.cache.function_cache import BoundObjects, CacheEntry, digest_of
from parpass.runner.ipc.function_outcome import Effects, ReadKind
from parpass.transform import BlobSink
from parpass.transform.capture.emission import (
    BufferedLogRecord,
    BufferedRegistryReset,
)
from tests.support.flipping import damages
from tests.support.profiles import examples


class Codec:
    """A codec of bytes, which refuses some; each is a large value, too."""

    def encode(self, function: Any, blob_sink: BlobSink) -> Any:
        blob_sink(Value(len(function)))
        return function

    def decode(self, encoded: bytes) -> Any:
        if not encoded.startswith(b"fn"):
            raise LookupError(encoded)
        return encoded


class Value:
    source = None

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def raw(self) -> memoryview:
        return memoryview(bytes(self.nbytes))


CODEC = Codec()
BOUND = BoundObjects({})
REF = weakref.ref(BOUND)
SPAN = Span("text", 1, 2, 3, 4)
ENTRIES = (
    CacheEntry(
        (((ReadKind.SIGNATURE, "f"), b"digest"), ((ReadKind.NAMES, ""), b"")),
        b"fn of bytes",
        REF,
        {
            1: Effects(
                [Diagnostic.warning(SPAN, "careful")],
                {"count": 3},
                [
                    BufferedLogRecord("f", 1, 0, {"msg": "%s", "args": ("x", 1.5)}),
                    BufferedRegistryReset("f", 0, 0),
                ],
                [Remark(RemarkKind.PASSED, "P", "f", "Did", "did it", SPAN, {"n": 1})],
            )
        },
        ("f", "g"),
        True,
    ),
    CacheEntry((), None, REF, {}, None),
)


def data_of(*entries: CacheEntry, large_bytes: int = 100) -> bytes:
    found = encode_entries(entries, CODEC, large_bytes)
    assert found is not None
    return found


def decoded(
    encoded: bytes, codec: Codec | None = CODEC
) -> tuple[tuple[CacheEntry, ...], list[tuple[Any, bytes]]]:
    """Return the results, and the functions that are said to have a digest."""
    noted: list[tuple[Any, bytes]] = []

    def note(function: Any, digest: bytes) -> None:
        noted.append((function, digest))

    return decode_entries(encoded, codec, REF, note), noted


def test_results_come_back():
    assert decoded(data_of(*ENTRIES))[0] == ENTRIES


def test_the_digest_is_that_of_the_bytes_unless_large_values_are_digested_apart():
    _, noted = decoded(data_of(*ENTRIES))
    assert noted == [(b"fn of bytes", digest_of(b"fn of bytes"))]
    assert decoded(data_of(*ENTRIES, large_bytes=11)) == (ENTRIES, [])


def test_without_a_codec_only_what_has_no_function_is_written():
    found = encode_entries(ENTRIES, None, 100)
    assert found is not None
    assert decoded(found, None) == (ENTRIES[1:], [])
    assert encode_entries(ENTRIES[:1], None, 100) is None
    assert decoded(data_of(*ENTRIES), None) == ((), [])


@given(st.data())
@examples(10)
def test_damaged_results_are_none_or_whole_ones(data: st.DataObject):
    found, _ = decoded(data.draw(damages(data_of(*ENTRIES))))
    for entry in found:
        if entry.result is not None:
            assert entry.result.startswith(b"fn")
    if found:
        assert len(decoded(data_of(*found))[0]) == len(found)
