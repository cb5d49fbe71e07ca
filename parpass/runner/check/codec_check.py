"""The codec check: encoding and decoding must be invisible to passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parpass.errors import LawError
from parpass.transform import ModuleAdapter
from parpass.transform.adapter import named_trip
from parpass.transform.checked_adapter import adapter_name

CODEC = "encode_function, decode_function"


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
        found = adapter.difference(original, function)
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
    found = adapter.difference(function, back)
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
