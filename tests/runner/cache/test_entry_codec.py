"""Results in a store on disk: what is damaged is a miss, whatever it is."""

from __future__ import annotations

import weakref
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parpass.diagnostic import Diagnostic, Span
from parpass.remark import Remark, RemarkKind
from parpass.runner.cache.entry_codec import decode_entries, encode_entries
from parpass.runner.cache.function_cache import BoundObjects, CacheEntry
from parpass.runner.ipc.messages import Effects, ReadKind
from parpass.transform.capture.emission import (
    BufferedLogRecord,
    BufferedRegistryReset,
)
from parpass.transform.relative_lines import (
    ABSOLUTE,
    ElsewhereError,
    LineBase,
    RelativeLines,
)
from tests.support.flipping import damages
from tests.support.profiles import examples


class Codec:
    """A codec of bytes, which refuses some."""

    def encode(self, function: Any, blob_sink: Any, lines: LineBase = ABSOLUTE) -> Any:
        if function == b"fn of elsewhere" and lines is not ABSOLUTE:
            raise ElsewhereError
        return function

    def decode(self, encoded: bytes, lines: RelativeLines | None = None) -> Any:
        if not encoded.startswith(b"fn"):
            raise LookupError(encoded)
        return encoded

    def encode_reference(self, name: str) -> bytes:
        return b""

    def place_in(self, function: Any) -> Span | None:
        return None

    def place_of(self, name: str) -> Span | None:
        return None


def lines_at(line: int) -> RelativeLines:
    lines = RelativeLines()
    lines.base_of(Span("text", line, line + 2, 1, 1))
    return lines


BOUND = BoundObjects({})
REF = weakref.ref(BOUND)
SPAN = Span("text", 1, 2, 3, 4)
ENTRIES = [
    CacheEntry(
        [((ReadKind.SIGNATURE, "f"), b"digest"), ((ReadKind.NAMES, ""), b"")],
        b"fn of bytes",
        REF,
        lines_at(1),
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
        ["f", "g"],
        True,
    ),
    CacheEntry([], None, REF, None, {}, None),
]


def data_of(*entries: CacheEntry) -> bytes:
    found = encode_entries(entries, Codec())
    assert found is not None
    return found


def test_results_come_back():
    assert decode_entries(data_of(*ENTRIES), Codec(), REF, lines_at(1)) == ENTRIES


def test_without_a_codec_only_what_has_no_function_is_written():
    found = encode_entries(ENTRIES, None)
    assert found is not None
    assert decode_entries(found, None, REF, lines_at(1)) == ENTRIES[1:]
    assert encode_entries(ENTRIES[:1], None) is None
    assert decode_entries(data_of(*ENTRIES), None, REF, lines_at(1)) == []


@given(st.data())
@examples(10)
def test_damaged_results_are_none_or_whole_ones(data: st.DataObject):
    found = decode_entries(
        data.draw(damages(data_of(*ENTRIES))), Codec(), REF, lines_at(1)
    )
    for entry in found:
        if entry.result is not None:
            assert entry.result.startswith(b"fn")
    if found:
        assert len(decode_entries(data_of(*found), Codec(), REF, lines_at(1))) == len(
            found
        )


def test_results_come_back_where_their_function_is_now():
    (entry,) = decode_entries(data_of(ENTRIES[0]), Codec(), REF, lines_at(11))
    assert entry.lines == lines_at(11)
    (effects,) = entry.effects.values()
    spans = [one.span for one in (*effects.diagnostics, *effects.remarks)]
    assert spans == [Span("text", 11, 12, 3, 4)] * 2


def test_results_with_spans_of_elsewhere_stay_where_they_were():
    elsewhere = Span("text", 9, 9, 1, 2)
    effects = {0: Effects([Diagnostic.note(elsewhere, "here")], {}, [], [])}
    for result, theirs in (b"fn of elsewhere", {}), (b"fn", effects):
        entry = CacheEntry([], result, REF, lines_at(1), theirs, [])
        assert decode_entries(data_of(entry), Codec(), REF, lines_at(11)) == [entry]
