"""Comparison of a result that was computed again with the one that a cache has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.runner.cache.function_cache import CacheEntry
from parpass.runner.ipc.function_outcome import Effects
from parpass.transform import Pass
from parpass.transform.capture.emission import BufferedLogRecord, Emission

_NONE = Effects()


def mismatch(
    steps: Sequence[Pass], kept: CacheEntry, computed: CacheEntry, *, is_same: bool
) -> str | None:
    """Return how two results differ, for a warning; None if they do not.

    Args:
        steps: The passes.
        kept: The result in the cache.
        computed: The one that was computed again.
        is_same: Whether their functions are the same.
    """
    differing = [
        at
        for at in range(len(steps))
        if _comparable(kept.effects.get(at, _NONE))
        != _comparable(computed.effects.get(at, _NONE))
    ]
    if is_same and not differing:
        return None
    suspects = _suspects(len(steps), kept, computed, differing)
    passes = [f"'{steps[at].info.name}'" for at in suspects]
    what = "diagnostics, log records or the like" if is_same else "another function"
    return (
        f"{' or '.join(passes)} gave {what} than the cache has from an earlier run: "
        "the pass depends on something that its key does not have, such as a file, a "
        "clock or state of its own, though it declares cacheable; the new result is "
        "used" + ("; results from now on tell these passes apart" if passes[1:] else "")
    )


def _comparable(effects: Effects) -> Any:
    """Return what two runs of a pass have in common, if they do the same."""
    return (
        list(effects.diagnostics),
        dict(effects.counters or {}),
        list(effects.remarks),
        [(one.function, one.before, one.after) for one in effects.changes],
        [_summary(one) for one in effects.emissions],
    )


def _summary(emission: Emission) -> Any:
    if not isinstance(emission, BufferedLogRecord):
        return emission
    plain = emission.plain
    return [plain.get(key) for key in ("name", "levelno", "msg", "args", "lineno")]


def _suspects(
    count: int, kept: CacheEntry, computed: CacheEntry, differing: Sequence[int]
) -> Sequence[int]:
    """Return the passes one of which gave two results of the same, by index.

    The effects of those in `differing` differ.
    """
    was, now = _results(kept), _results(computed)
    if was and now:  # which are of functions that were the same up to there
        others = [at for at in range(count) if was.get(at) != now.get(at)]
        if others or differing:
            return [min([*others, *differing])]
    return range(min(differing, default=count - 1) + 1)


def _results(entry: CacheEntry) -> dict[int, str]:
    """Return digests of what passes made of a function, by index; none if unknown."""
    effects = entry.effects.items()
    return {at: one.result for at, one in effects if one.result is not None}
