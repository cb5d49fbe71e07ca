"""Pickling by which classes of the program's own `__main__` travel by value.

A worker has another `__main__`, and cannot look them up there.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable
from typing import Any

_BY_VALUE = b"_class_setstate"  # what cloudpickle calls where a class travelled so


def pack(value: Any) -> bytes:
    """Return a value as bytes, with what is its class if no other process has that."""
    if type(value).__module__ != "__main__":
        return pickle.dumps(value, protocol=5)
    import cloudpickle  # which takes longer to load than all else here

    return cloudpickle.dumps(value, protocol=5)


def unpack(packed: bytes | memoryview) -> Any:
    """Return the value; classes of this process are found again, and left alone."""
    if isinstance(packed, bytes) and _BY_VALUE not in packed:
        return pickle.loads(packed)  # as nearly all that comes back
    return _Reader(io.BytesIO(packed)).load()  # from a process of ours


class _Reader(pickle.Unpickler):
    """Leaves the classes of this process as they are.

    What a worker sends back may hold classes that were sent there by value. They are
    found again here, and cloudpickle would then give them the methods and attributes of
    their copies, which refer to globals over there.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        found = super().find_class(module_name, global_name)
        if global_name == _BY_VALUE.decode() and module_name.startswith("cloudpickle"):
            return functools.partial(_set_up_once, found)
        return found


def _set_up_once(set_up: Callable[[type, Any], type], kind: type, state: Any) -> type:
    attributes = state[0]
    return kind if attributes.keys() <= vars(kind).keys() else set_up(kind, state)
