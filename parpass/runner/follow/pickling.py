"""Pickling of code by value, and its diagnostics.

Code that a worker cannot import is pickled by value. What cannot be pickled is reported
by its path, such as `my_pass.rewriter.lock`.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import FunctionType
from typing import Any, cast

from parpass.program_modules import is_by_value
from parpass.runner.follow.propagation import reduce_contextvar
from parpass.transform.by_value import pickle_by_name
from parpass.transform.code_names import closure_of, named_globals
from parpass.transform.code_pickler import CodePickler
from parpass.transform.object_walk import OPAQUE, Part, parts_of

_PROTOCOL = 5  # of pickle
_MAX_DEPTH = 8  # attributes of attributes; deeper paths are of no help


class Pickler(CodePickler):
    """The pickler of cloudpickle, which also pickles registered contextvars."""

    dispatch_table = CodePickler.dispatch_table.new_child(
        {ContextVar: reduce_contextvar}
    )

    def reducer_override(self, obj: Any) -> Any:
        """Return the reduce value of an object, as cloudpickle does but faster.

        Cloudpickle searches tables in Python for each object, and modules for each
        class and function.
        """
        # Not `isinstance`, as an object may claim to be of another class.
        kind = cast("type[Any]", type(obj))
        if issubclass(kind, (type, FunctionType)):
            if _has_name(obj, self.modules):
                return obj.__qualname__
            return super().reducer_override(obj)
        for table in self.dispatch_table.maps:
            if kind in table:
                return NotImplemented
        reduced = obj.__reduce_ex__(_PROTOCOL)
        if isinstance(reduced, str) and getattr(obj, "__module__", None) == "__main__":
            raise pickle.PicklingError(
                f"{reduced!r} is pickled by its name, and workers have no names of the "
                "main script; define it in a module that they can import"
            )
        return reduced


def _has_name(one: Any, by_value: frozenset[str]) -> bool:
    """Return whether other processes surely find a class or function by its name.

    Cloudpickle's check takes ten times as long.
    """
    module = one.__module__
    if is_by_value(module, by_value):
        return False
    names = getattr(sys.modules[module], "__dict__", {})
    return names.get(one.__qualname__) is one


def pickle_by_value(message: Any) -> bytes:
    """Return an object as bytes, with all code that other processes cannot import."""
    file = io.BytesIO()
    Pickler(file).dump(message)
    return file.getvalue()


def pickle_briefly(value: Any) -> bytes:
    """Return an object as bytes, by value only if its classes cannot be imported."""
    try:
        packed = pickle_by_name(value)
    except Exception:  # noqa: BLE001 -- what only our pickler takes, such as contextvars
        packed = None
    return pickle_by_value(value) if packed is None else packed


class KeptEncoding:
    """Encodes states of one kind; one that equals the last has the same bytes."""

    def __init__(self) -> None:
        self._last: tuple[Any, bytes] | None = None

    def encode(self, state: Any, *, is_plain: bool = True) -> bytes:
        """Return a state as bytes.

        Args:
            state: The state.
            is_plain: Whether no part of it can change while the whole stays equal.
        """
        last = self._last
        if last is not None and last[0] == state:
            return last[1]
        encoded = pickle_by_value(state)
        if is_plain:
            self._last = state, encoded
        return encoded


def find_unpicklable(value: Any, name: str) -> str | None:
    """Return the path and error of the part that cannot be pickled; None if all can."""
    error = _pickle_error(value)
    if error is None:
        return None
    path, error = _innermost_unpicklable(value, name, error)
    return f"{path}: {type(error).__name__}: {error}"


def _innermost_unpicklable(
    value: Any, path: str, error: Exception
) -> tuple[str, Exception]:
    for _ in range(_MAX_DEPTH):
        for step, part in _parts(value):
            part_error = _pickle_error(part)
            if part_error is not None:
                value, path, error = part, path + step, part_error
                break
        else:
            break
    return path, error


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    for part in parts_of(Part(value, "", "")):
        yield part.path, part.value
    if isinstance(value, OPAQUE):
        own = dict(getattr(value, "__dict__", {}))
        yield from ((f".{name}", part) for name, part in own.items())
    yield from _variables(value)


def _variables(value: Any) -> Iterator[tuple[str, Any]]:
    function = getattr(value, "__func__", value)
    if isinstance(function, FunctionType):
        for name, one in closure_of(function).items():
            yield f" (its variable '{name}')", one
        for name, one in named_globals(function).items():
            yield f" (the global '{name}')", one


def _pickle_error(value: Any) -> Exception | None:
    try:
        pickle_by_value(value)
    except Exception as error:  # noqa: BLE001 -- __reduce__ may raise anything
        return error
    return None
