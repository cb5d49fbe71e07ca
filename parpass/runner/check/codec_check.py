"""The codec check: encoding and decoding must be invisible to passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parpass.errors import LawError
from parpass.runner.check.state_difference import state_difference
from parpass.transform import ModuleAdapter
from parpass.transform.adapter import keep_inline, named_trip
from parpass.transform.checked_adapter import adapter_name, overrides

CODEC = "encode_function, decode_function"
_NAMELESS = " object at 0x"  # in the text of objects without a `__repr__`
_SHOWN = 24  # bytes


def difference_of(adapter: ModuleAdapter, one: Any, other: Any) -> str | None:
    """Return where two functions differ; None if passes cannot tell them apart.

    Functions that compare by identity, and whose adapter has no `difference`, are
    compared by their state; as encoded if passes consume them, as that is their state.
    """
    if one is other:
        return None
    plain = type(one).__eq__ is object.__eq__ and not overrides(adapter, "difference")
    if plain and not adapter.consumes_functions:
        return state_difference(adapter, one, other)
    found = None if plain else adapter.difference(one, other)
    if not plain and (found is None or _NAMELESS not in found):
        return found
    mine, others = (adapter.encode_function(each, keep_inline) for each in (one, other))
    if plain and mine == others:
        return None
    pairs = enumerate(zip(mine, others, strict=False))
    shortest = min(len(mine), len(others))
    at = next((at for at, (a, b) in pairs if a != b), shortest)
    parts = [repr(each[at : at + _SHOWN]) for each in (mine, others)]
    return f"{parts[0]} and {parts[1]}, from byte {at} of their encodings on"


def changed_in_place(
    adapter: ModuleAdapter,
    functions: Mapping[str, Any],
    encoded: Mapping[str, bytes],
    mod: Any,
) -> tuple[str, str] | None:
    """Return which function of a module is not as it was encoded, and the difference.

    None is if all are.
    """
    for name, function in functions.items():
        original = adapter.decode_function(encoded[name], (), mod)
        found = difference_of(adapter, original, function)
        if found is not None:
            return name, found
    return None


def round_trip_fault(
    adapter: ModuleAdapter, name: str, function: Any, mod: Any
) -> LawError | None:
    """Return the error for a function that the codec changes; None if it does not.

    If functions make round trips between passes, the function makes one before.
    """
    back = named_trip(adapter, name, function, mod)
    again = ""
    if adapter.round_trip_between_passes:
        again = " after an earlier round trip"
        function = back
        back = named_trip(adapter, name, back, mod)
    found = difference_of(adapter, function, back)
    if found is None:
        return None
    return LawError(
        f"adapter '{adapter_name(adapter)}': expected 'decode_function' to restore the "
        f"function '{name}' that was passed to 'encode_function'{again}, got a "
        f"different one: {found}; make them keep all that passes can see",
        adapter=adapter_name(adapter),
        method=CODEC,
        function=name,
        difference=found,
    )


def codec_visible_error(
    adapter: ModuleAdapter, pass_name: str, function: str | None, found: str
) -> LawError:
    """Return the error for a pass whose result depends on a round trip of its argument.

    It is that on a function, or on the module. `found` is the difference of the
    results, without the round trip first.
    """
    name = adapter_name(adapter)
    on = "" if function is None else f" on function '{function}'"
    if adapter.round_trip_between_passes:
        why = "a run may encode and decode more than once"
        advice = "make a second round trip keep all that passes can see"
    else:
        why = "a serial run passes on the results of passes, and workers decode them"
        advice = (
            "make 'encode_function' keep all that passes can see, or set "
            "round_trip_between_passes = True on the adapter"
        )
    return LawError(
        f"adapter '{name}': expected 'encode_function' and 'decode_function' to change "
        f"nothing that passes can see, but pass '{pass_name}' gives another result"
        f"{on} after them: {found} (without them first); {why}; {advice}",
        adapter=name,
        method=CODEC,
        pass_name=pass_name,
        function=function,
        difference=found,
    )
