"""How code travels, and what of something cannot: `my_pass.rewriter.lock`."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any, cast

import cloudpickle

from parpass.runner.travel.propagation import reduced

_PROTOCOL = 5
_DEEPEST = 8  # attributes of attributes; deeper paths help nobody


class Pickler(cloudpickle.Pickler):
    """Cloudpickle's; it knows contextvars, which is no matter of other picklers."""

    dispatch_table = cloudpickle.Pickler.dispatch_table.new_child({ContextVar: reduced})

    def reducer_override(self, obj: Any) -> Any:
        """Return how to pickle something, as Cloudpickle does, in less time.

        It would look through tables in Python for each object, and through modules for
        each class and function.
        """
        # Not `isinstance`, as it may say to be of another class.
        kind = cast("type[Any]", type(obj))
        if issubclass(kind, (type, FunctionType)):
            return obj.__qualname__ if _has_name(obj) else super().reducer_override(obj)
        for table in self.dispatch_table.maps:
            if kind in table:
                return NotImplemented
        return obj.__reduce_ex__(_PROTOCOL)


def _has_name(one: Any) -> bool:
    """Return whether a class or function is surely had by its name in other processes.

    Cloudpickle would find that out, too, in ten times the time.
    """
    module = one.__module__
    if module == "__main__" or cloudpickle.list_registry_pickle_by_value():
        return False
    names = getattr(sys.modules.get(module), "__dict__", {})
    return names.get(one.__qualname__) is one


def pack_by_value(message: Any) -> bytes:
    """Return something as bytes, with the code of what other processes cannot import.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    file = io.BytesIO()
    Pickler(file, protocol=5).dump(message)
    return file.getvalue()


def why_not_picklable(value: Any, name: str) -> str | None:
    """Return None for what can travel, else what is in the way, by its path."""
    error = _pickle_error(value)
    if error is None:
        return None
    path, error = _innermost(value, name, error)
    return f"{path}: {type(error).__name__}: {error}"


def _innermost(value: Any, path: str, error: Exception) -> tuple[str, Exception]:
    """Follow the parts that cannot be pickled down to the one that is to blame."""
    for _ in range(_DEEPEST):
        for step, part in _parts(value):
            part_error = _pickle_error(part)
            if part_error is not None:
                value, path, error = part, path + step, part_error
                break
        else:
            break
    return path, error


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in cast("Mapping[Any, Any]", value).items():
            yield f"[{key!r}]", part
    elif isinstance(value, list | tuple | set | frozenset):
        for at, part in enumerate(cast("Sequence[Any]", value)):
            yield f"[{at}]", part
    else:
        yield from ((f".{name}", part) for name, part in _state(value).items())
        yield from _closure(value)


def _state(value: Any) -> dict[str, Any]:
    fields: Sequence[str] = getattr(value, "__struct_fields__", ())
    state = {name: getattr(value, name) for name in fields}
    return state | dict(getattr(value, "__dict__", {}))


def _closure(value: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(value, "__code__", None)
    if code is None:
        return
    cells: Sequence[Any] = value.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # it has no value yet
            yield f" (its variable '{name}')", cell.cell_contents
    for name in code.co_names:
        if name in value.__globals__:
            yield f" (the global '{name}')", value.__globals__[name]


def _pickle_error(value: Any) -> Exception | None:
    try:
        pack_by_value(value)
    except Exception as error:  # noqa: BLE001 -- __reduce__ may raise anything
        return error
    return None
