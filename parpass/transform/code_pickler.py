"""Cloudpickle's pickler, of code, of functions that are cached, of classes with slots.

From 3.1.3 on cloudpickle replaces the file name of a code object by `<dynamic-code>`.
But tracebacks, warnings and log records show the file name, and those of a serial run
show the real one. What `functools.cache` and `lru_cache` return is pickled by its name
alone, which other processes do not have for what `__main__` defines. A class with slots
becomes one without.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, cast

import cloudpickle

_NONE: Mapping[type, Callable[[Any], Any]] = {}
_CACHED = type(functools.cache(len))
_reduce_by_cloudpickle = cloudpickle.Pickler.dispatch_table[CodeType]


def _rebuild_code(make: Callable[..., CodeType], args: Any, file: str) -> CodeType:
    return make(*args).replace(co_filename=file)


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    make, args = _reduce_by_cloudpickle(code)
    return _rebuild_code, (make, args, code.co_filename)


def _rebuild_cached(function: Callable[..., Any], parameters: Any) -> Any:
    return functools.lru_cache(**parameters)(function)


def _reduce_cached(cached: Any) -> Any:
    """Return the reduction of a cached function: its name, or it with an empty cache.

    The name is for other processes that can import it.
    """
    name, module = getattr(cached, "__qualname__", ""), cached.__module__
    packages = [module[:at] for at, one in enumerate(module) if one == "."]
    whole = {"__main__", *cloudpickle.list_registry_pickle_by_value()}
    if whole.isdisjoint((module, *packages)) and _named(module, name) is cached:
        return name
    return _rebuild_cached, (cached.__wrapped__, cached.cache_parameters())


def _named(module: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):  # it is defined in a function, say
        return None


class CodePickler(cloudpickle.Pickler):
    dispatch_table = cloudpickle.Pickler.dispatch_table.new_child(
        {CodeType: _reduce_code, _CACHED: _reduce_cached}
    )

    def reducer_override(self, obj: Any) -> Any:
        """Return the reduce value of an object; a class with slots keeps them.

        Cloudpickle makes a class without slots of it, whose instances have another
        state, which those of the class itself cannot be given.
        """
        made: Any = super().reducer_override(obj)
        # Not `isinstance`, as an object may claim to be of another class.
        is_class = issubclass(cast("type[Any]", type(obj)), type)
        return _with_slots(obj, made) if is_class else made


def _with_slots(kind: type, made: Any) -> Any:
    slots = vars(kind).get("__slots__")
    if slots is None or type(cast("object", made)) is not tuple:  # it is found by name
        return made
    args: list[Any] = list(made[1])
    at = next((at for at, one in enumerate(args) if type(one) is dict), None)
    if at is None:  # what a class is made with, by name
        return made
    args[at] = {**args[at], "__slots__": slots}
    return (made[0], tuple(args), *made[2:])


class _ReducingPickler(CodePickler):
    def __init__(
        self, file: io.BytesIO, reducers: Mapping[type, Callable[[Any], Any]]
    ) -> None:
        # Set before, as the pickler looks it up when it is initialized.
        self.dispatch_table = CodePickler.dispatch_table.new_child(dict(reducers))
        super().__init__(file, protocol=5)


def dumps(value: Any, reducers: Mapping[type, Callable[[Any], Any]] = _NONE) -> bytes:
    """Pickle a value, with code that other processes cannot import by value.

    Args:
        value: The value.
        reducers: What instances of classes are pickled as, as in `copyreg`.

    Raises:
        Exception: A part of it cannot be pickled.
    """
    file = io.BytesIO()
    if reducers:
        _ReducingPickler(file, reducers).dump(value)
    else:
        CodePickler(file, protocol=5).dump(value)
    return file.getvalue()
