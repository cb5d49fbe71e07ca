"""The difference of two functions where their adapter says nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from parpass.transform.codecs import BlobSink
from parpass.transform.frozen_values import is_frozen
from parpass.transform.object_walk import Part, parts_of

_NAMELESS = " object at 0x"  # in the text of objects without a `__repr__`
_SHOWN = 24  # bytes


class _Adapter(Protocol):
    """The part of a module adapter, which imports this module, that is needed here."""

    @property
    def consumes_functions(self) -> bool: ...

    def is_module(self, value: Any) -> bool: ...

    def encode_function(self, function: Any, blob_sink: BlobSink) -> bytes: ...


def function_difference(adapter: _Adapter, one: Any, other: Any) -> str | None:
    """Return where two functions differ; None if passes cannot tell them apart."""
    if one is other:
        return None
    shown = None
    if type(one).__eq__ is not object.__eq__:
        if one == other:
            return None
        shown = f"{one!r} and {other!r}"
        if _NAMELESS not in shown:
            return shown
    of_content = _of_bytes if adapter.consumes_functions else _of_states
    return of_content(adapter, one, other) or shown


def _of_bytes(adapter: _Adapter, one: Any, other: Any) -> str | None:
    """Return where the encoded forms of two functions differ."""
    mine, others = (
        adapter.encode_function(each, lambda _: None) for each in (one, other)
    )
    if mine == others:
        return None
    pairs = enumerate(zip(mine, others, strict=False))
    shortest = min(len(mine), len(others))
    at = next((at for at, (a, b) in pairs if a != b), shortest)
    parts = [repr(each[at : at + _SHOWN]) for each in (mine, others)]
    return f"{parts[0]} and {parts[1]}, from byte {at} of their encodings on"


def _of_states(adapter: _Adapter, one: Any, other: Any) -> str | None:
    """Return where the states of two functions differ.

    Compared are attributes, slots and items, and which objects are the same. What they
    know of modules is left out.
    """
    found = next(_differing(adapter, one, other), None)
    if found is None:
        return None
    path, what = found
    return f"{what} at {type(one).__name__}{path}"


def _differing(adapter: _Adapter, one: Any, other: Any) -> Iterator[tuple[str, str]]:
    same: dict[int, int] = {}  # objects of the other function, by those of the one
    kept: list[Any] = []
    waiting = [(Part(one, "", ""), Part(other, "", ""))]
    while waiting:
        mine, others = waiting.pop()
        left, right = mine.value, others.value
        if id(left) in same:
            if same[id(left)] != id(right):
                yield mine.path, f"one {type(left).__name__} in two places, or two"
            continue
        if type(left) is not type(right) or (is_frozen(left) and is_frozen(right)):
            if type(left) is not type(right) or _is_unequal(left, right):
                yield mine.path, f"{left!r:.80} and {right!r:.80}"
            continue
        if mine.path and is_surely_module(adapter, left):
            continue
        same[id(left)] = id(right)
        kept += [left, right]
        found, pairs = _compared(mine, others)
        if found is not None:
            yield found
        waiting += pairs


def _compared(
    mine: Part, others: Part
) -> tuple[tuple[str, str] | None, list[tuple[Part, Part]]]:
    """Return the difference of two objects by themselves, and the pairs of their parts.

    Parts of sets come in no order, so only their number is compared.
    """
    left, right = mine.value, others.value
    shown = mine.path, f"{left!r:.80} and {right!r:.80}"
    if isinstance(left, set | frozenset):
        is_so = len(cast("set[Any]", left)) == len(cast("set[Any]", right))
        return (None if is_so else shown), []
    parts, its_parts = list(parts_of(mine)), list(parts_of(others))
    if not parts and not its_parts:
        is_compared = type(left).__eq__ is not object.__eq__
        return (shown if is_compared and _is_unequal(left, right) else None), []
    paths, its_paths = ([part.path for part in one] for one in (parts, its_parts))
    if paths == its_paths:
        return None, list(zip(parts, its_parts, strict=True))
    lost = next((path for path in paths if path not in its_paths), None)
    if lost is not None:
        return (lost, "something and nothing"), []
    new = next((path for path in its_paths if path not in paths), its_paths[0])
    return (new, "nothing and something"), []


def is_surely_module(adapter: _Adapter, value: Any) -> bool:
    """Return whether a value is surely a module: where a dict is one, any may be."""
    return not adapter.is_module({}) and adapter.is_module(value)


def _is_unequal(one: Any, other: Any) -> bool:
    if isinstance(one, type) or callable(one):
        return one is not other
    try:
        return bool(one != other) and bool(one == one)
    except Exception:  # noqa: BLE001 -- as of arrays, which say no single thing
        return repr(one) != repr(other)
