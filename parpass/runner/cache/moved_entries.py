"""Results of functions that are on other lines now, as an edit above them makes it.

A result moves with its function if all spans in it, and in what passes emitted, are on
lines of that function, and if no pass saw lines: in text that it made of a span, by
attributes of one, or of other functions. What passes logged has text of any origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from parpass.diagnostic import Span
from parpass.runner.cache.function_cache import CacheEntry
from parpass.runner.ipc.messages import Effects, Read, ReadKind
from parpass.transform import PortableCodec
from parpass.transform.adapter import keep_inline
from parpass.transform.relative_lines import (
    ElsewhereError,
    RelativeLines,
    WithinLines,
)

# Reads after which a result may have any lines.
_SEEING = ReadKind.PLACE, ReadKind.FUNCTION, ReadKind.EVERYTHING, ReadKind.SHELL
_OF_NAMES = ReadKind.NAME, ReadKind.SIGNATURE, ReadKind.FUNCTION


def places_read(
    name: str,
    reads: Sequence[Read],
    effects: Mapping[int, Effects],
    load: Callable[[], Any],
    lines: RelativeLines | None,
    codec: PortableCodec,
) -> Sequence[Read]:
    """Return the reads of places that a result depends on.

    Args:
        name: The function.
        reads: What passes read, as it was recorded.
        effects: The effects of passes.
        load: Returns the result.
        lines: The lines of the function; None if its key has them.
        codec: The codec of the module.
    """
    # Places of other functions that passes may have got hold of.
    names = {one for kind, one in reads if kind in _OF_NAMES}
    if lines is None:
        return [(ReadKind.PLACE, one) for one in names if codec.place_of(one)]
    names |= lines.references
    known = {one: codec.place_of(one) for one in (name, *names)}
    if (
        any(kind in _SEEING for kind, _ in reads)
        or any(one.emissions or one.changes for one in effects.values())
        or not _are_apart(name, known, lines)
        or (
            any(place for one, place in known.items() if one != name)
            and not _are_within(load(), effects, lines, codec)
        )
    ):
        return [(ReadKind.PLACE, one) for one in known]
    return ()


def _are_apart(
    name: str, places: Mapping[str, Span | None], lines: RelativeLines
) -> bool:
    """Return whether the places of a function's name alone is on its lines."""
    return all(
        place is None or lines.has(place) == (one == name)
        for one, place in places.items()
    )


def _are_within(
    result: Any,
    effects: Mapping[int, Effects],
    lines: RelativeLines,
    codec: PortableCodec,
) -> bool:
    """Return whether all spans are on the lines of the function."""
    try:
        moved_effects(effects, lines, lines)
        return codec.encode(result, keep_inline, WithinLines(lines)) is not None
    except ElsewhereError:
        return False


def moved(
    entry: CacheEntry, to: RelativeLines | None, codec: PortableCodec | None
) -> CacheEntry | None:
    """Return a result where its function is now; None if it does not move.

    Args:
        entry: The result, which is of that function.
        to: The lines of the function.
        codec: The codec that found them.
    """
    lines = entry.lines
    if lines == to:
        return entry
    if lines is None or to is None:
        return None
    try:
        result = entry.result
        if result is not None:
            assert codec is not None
            encoded = codec.encode(result, keep_inline, WithinLines(lines))
            if encoded is None:
                return None
            result = codec.decode(encoded, to)
        effects = moved_effects(entry.effects, lines, to)
    except Exception:  # noqa: BLE001 -- of a codec, or a span is elsewhere
        return None
    return replace(entry, result=result, effects=effects, lines=to)


def moved_effects(
    effects: Mapping[int, Effects], lines: RelativeLines, to: RelativeLines
) -> Mapping[int, Effects]:
    """Return effects of passes on a function that is at other lines now.

    Raises:
        ElsewhereError: A span of them is not of the function.
    """
    return {
        at: replace(
            one,
            diagnostics=[
                replace(each, span=lines.moved(each.span, to))
                for each in one.diagnostics
            ],
            remarks=[
                replace(each, span=lines.moved(each.span, to)) for each in one.remarks
            ],
        )
        for at, one in effects.items()
    }
