"""Pickling what a pass has to say, for the process that it is to be said in.

Classes of the program's own `__main__` travel to the workers by value, for a worker
cannot import them. On the way back they are named only: they are at home there, and who
catches, filters or compares by them means the very class. Errors and warnings are made
again as those are that are raised, without their constructors.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from types import FunctionType
from typing import Any

from parpass.errors.reduction import reduced

_met: dict[str, Any] = {}  # by name, what was packed here and is at home elsewhere


class _Pickler(pickle.Pickler):
    in_its_way = True

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, BaseException):
            return reduced(obj, in_its_way=self.in_its_way)
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
    for in_its_way in (True, False):
        file = io.BytesIO()
        pickler = _Pickler(file, protocol=5)
        pickler.in_its_way = in_its_way
        try:
            pickler.dump(value)
            if type(pickle.loads(file.getbuffer())) is type(value):
                return file.getvalue()
        except Exception:  # noqa: BLE001 -- whatever a user's class does
            continue
    return None


def unpacked_at_home(packed: bytes) -> Any:
    """Return the value.

    Raises:
        Exception: It could be read where it was packed, and cannot be here.
    """
    return pickle.loads(packed)  # from our own worker
