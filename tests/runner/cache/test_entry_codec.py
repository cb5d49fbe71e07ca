"""Results in a store on disk: what is damaged is a miss, whatever it is."""

from __future__ import annotations

import weakref
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from parpass.diagnostic import Diagnostic, Span
from parpass.remark import Remark, RemarkKind
from parpass.runner.cache.entry_codec import decode_entries, encode_entries
from parpass.runner.cache.function_cache import BoundObjects, CacheEntry, digest_of
from parpass.runner.ipc.messages import Effects, ReadKind
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
        digest_of(b"fn of bytes"),
    ),
    CacheEntry((), None, REF, {}, None),
)


def data_of(*entries: CacheEntry, large_bytes: int = 100) -> bytes:
    found = encode_entries(entries, Codec(), large_bytes)
    assert found is not None
    return found


def test_results_come_back():
    assert decode_entries(data_of(*ENTRIES), Codec(), REF) == ENTRIES


def test_the_digest_is_that_of_the_bytes_unless_large_values_are_digested_apart():
    without = replace(ENTRIES[0], content=None)
    assert decode_entries(data_of(without), Codec(), REF) == ENTRIES[:1]
    apart = decode_entries(data_of(ENTRIES[0], large_bytes=11), Codec(), REF)
    assert apart == (without,)


def test_without_a_codec_only_what_has_no_function_is_written():
    found = encode_entries(ENTRIES, None, 100)
    assert found is not None
    assert decode_entries(found, None, REF) == ENTRIES[1:]
    assert encode_entries(ENTRIES[:1], None, 100) is None
    assert decode_entries(data_of(*ENTRIES), None, REF) == ()


@given(st.data())
@examples(10)
def test_damaged_results_are_none_or_whole_ones(data: st.DataObject):
    found = decode_entries(data.draw(damages(data_of(*ENTRIES))), Codec(), REF)
    for entry in found:
        if entry.result is not None:
            assert entry.result.startswith(b"fn")
    if found:
        assert len(decode_entries(data_of(*found), Codec(), REF)) == len(found)
