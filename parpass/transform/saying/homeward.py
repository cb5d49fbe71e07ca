"""Pickling what a pass has to say, for the process that it is to be said in.

Classes of the program's own `__main__` travel to the workers by value, for a worker
cannot import them. On the way back they are named only: they are at home there, and who
catches, filters or compares by them means the very class.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from types import FunctionType
from typing import Any

_met: dict[str, Any] = {}  # by name, what was packed here and is at home elsewhere


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, (type, FunctionType)):
            return NotImplemented
        name = obj.__qualname__
        if obj.__module__ != "__main__" or "<locals>" in name:
            return NotImplemented
        _met[name] = obj
        return _of_main, (name,)


def _of_main(name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules["__main__"])
    except AttributeError:
        return _met[name]


def packed_for_home(value: Any) -> bytes | None:
    """Return a value as bytes that can be read again, None if there are none."""
    file = io.BytesIO()
    try:
        _Pickler(file, protocol=5).dump(value)
        pickle.loads(file.getbuffer())
    except Exception:  # noqa: BLE001 -- whatever a user's class does in its __reduce__
        return None
    return file.getvalue()


def unpacked_at_home(packed: bytes) -> Any:
    """Return the value.

    Raises:
        Exception: It could be read where it was packed, and cannot be here.
    """
    return pickle.loads(packed)  # from our own worker
