"""Pickling of instances of classes in `__main__` together with their class.

Workers have a different `__main__`, in which such a class cannot be looked up.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable
from typing import Any

_BY_VALUE = b"_class_setstate"  # named in pickles of cloudpickle with classes by value
# What from Python 3.14 on a class keeps under another name than it is set by.
_SET_ONLY = {"__annotations__", "__annotate__"}


def is_by_value(kind: Any) -> bool:
    """Return whether a class goes to other processes by value."""
    return getattr(kind, "__module__", None) == "__main__"


def pickle_value(value: Any) -> bytes:
    """Pickle a value, with its class by value if that is defined in `__main__`."""
    if not is_by_value(type(value)):
        return pickle.dumps(value, protocol=5)
    # It loads cloudpickle, which takes longer than all other imports here.
    from parpass.transform.code_pickler import dumps

    return dumps(value)


def unpickle(packed: bytes | memoryview) -> Any:
    """Unpickle a value; classes that this process has are found and left unchanged."""
    if not has_code(packed):
        return pickle.loads(packed)  # the common case
    return CodeUnpickler(io.BytesIO(packed)).load()  # from a process of parpass


def has_code(packed: bytes | memoryview) -> bool:
    """Return whether a pickle may have classes by value."""
    return not isinstance(packed, bytes) or _BY_VALUE in packed


class CodeUnpickler(pickle.Unpickler):
    """An unpickler that leaves the classes of this process unchanged.

    Values from a worker may contain classes that were sent to it by value. Cloudpickle
    finds the originals in this process, and would set their methods and attributes to
    those of the copies, which refer to globals of the worker.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        found = super().find_class(module_name, global_name)
        if global_name == _BY_VALUE.decode() and module_name.startswith("cloudpickle"):
            return functools.partial(_restore_class_once, found)
        return found


def _restore_class_once(
    set_state: Callable[[type, Any], type], kind: type, state: Any
) -> type:
    attributes = state[0].keys() - _SET_ONLY
    return kind if attributes <= vars(kind).keys() else set_state(kind, state)
