"""Results of functions that are on other lines now, as an edit above them makes it.

A result moves with its function if all spans in it, and in what passes emitted, are on
lines of that function, and if no pass saw lines: in text that it made of a span, by
attributes of one, or of other functions. What passes logged has text of any origin.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from parpass.runner.cache.function_cache import BoundObjects, CacheEntry
from parpass.runner.ipc.messages import Effects, Read, ReadKind
from parpass.transform import LargeValue, PlacedCodec
from parpass.transform.relative_lines import (
    ElsewhereError,
    RelativeLines,
    WithinLines,
)

# Reads after which a result may have any lines.
_SEEING = ReadKind.PLACE, ReadKind.FUNCTION, ReadKind.EVERYTHING, ReadKind.SHELL
_MAX_COPIED_BYTES = 1 << 16  # of a constant of a function that is moved
_OF_NAMES = ReadKind.NAME, ReadKind.SIGNATURE, ReadKind.FUNCTION


def places_read(
    name: str,
    reads: Sequence[Read],
    effects: Mapping[int, Effects],
    load: Callable[[], Any],
    lines: RelativeLines | None,
    codec: PlacedCodec,
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
    others = [place for one, place in known.items() if place and one != name]
    own = known[name]
    if (
        any(kind in _SEEING for kind, _ in reads)
        or any(one.emissions or one.changes for one in effects.values())
        or any(map(lines.has, others))  # they would be taken for the function's
        or (
            (others or (own is not None and not lines.has(own)))
            and not _are_within(load(), effects, lines, codec)
        )
    ):
        return [(ReadKind.PLACE, one) for one in known]
    return ()


def _are_within(
    result: Any,
    effects: Mapping[int, Effects],
    lines: RelativeLines,
    codec: PlacedCodec,
) -> bool:
    """Return whether all spans are on the lines of the function."""
    try:
        moved_effects(effects, lines, lines)
        return codec.encode(result, _left_out, WithinLines(lines)) is not None
    except ElsewhereError:
        return False


def _left_out(value: LargeValue) -> int:
    """Leave out a value, as only the rest is looked at."""
    del value
    return 0


def _small(value: LargeValue) -> None:
    """Keep a value in-band.

    Raises:
        ElsewhereError: It is large, so it is not copied.
    """
    if value.nbytes > _MAX_COPIED_BYTES:
        raise ElsewhereError


def moved(
    entry: CacheEntry,
    to: RelativeLines | None,
    codec: PlacedCodec | None,
    bound: weakref.ref[BoundObjects],
) -> CacheEntry | None:
    """Return a result where its function is now; None if it does not move.

    Args:
        entry: The result, which is of that function.
        to: The lines of the function.
        codec: The codec that found them.
        bound: What functions of its module refer to by identity.
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
            encoded = codec.encode(result, _small, WithinLines(lines))
            if encoded is None:
                return None
            result = codec.decode(encoded, to)
        effects = moved_effects(entry.effects, lines, to)
    except Exception:  # noqa: BLE001 -- of a codec, or a span is elsewhere
        return None
    return replace(entry, result=result, effects=effects, lines=to, bound=bound)


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
