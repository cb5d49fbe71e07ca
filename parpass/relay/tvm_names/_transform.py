"""TVM's registry of Relay's passes: `relay._transform.FoldConstant()` makes one.

The names are those of the global functions under `relay._transform.`, which include
passes that a user registers there.
"""

from __future__ import annotations

from parpass.errors.core import did_you_mean
from parpass.function_registry import (
    PackedFunc,
    get_global_func,
    list_global_func_names,
)

_PREFIX = "relay._transform."


def __getattr__(name: str) -> PackedFunc:
    if name.startswith("__"):  # asked for by Python
        raise AttributeError(name)
    found = get_global_func(_PREFIX + name, allow_missing=True)
    if found is None:
        hint = did_you_mean(name, __dir__())
        raise AttributeError(f"no pass is registered as '{_PREFIX}{name}'{hint}")
    return found


def __dir__() -> list[str]:
    names = list_global_func_names()
    return [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
