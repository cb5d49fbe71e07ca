"""Pickling of values together with the code that other processes cannot import.

That is what `__main__` defines, of which workers have a different one, and modules that
were loaded by their path. `program_modules.modules_by_value` is the one rule, for all
that is pickled: this module and `code_pickler` follow it.

A value is pickled by name, which is fast, and its bytes are searched for the names of
those modules: code may be anywhere in a value.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

from parpass.program_modules import is_by_value, modules_by_value


def pickle_value(value: Any) -> bytes:
    """Pickle a value, with code by value that other processes cannot import."""
    packed = pickle_by_name(value)
    if packed is not None:
        return packed
    # It loads cloudpickle, which takes longer than all other imports here.
    from parpass.transform.code_pickler import dumps

    return dumps(value)


def _dumps(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def pickle_by_name(
    value: Any,
    dumps: Callable[[Any], bytes] = _dumps,
    modules: frozenset[str] | None = None,
) -> bytes | None:
    """Pickle a value with all code by its name; None if some code goes by value.

    Args:
        value: The value.
        dumps: Pickles it so.
        modules: The result of `modules_by_value`, for several calls.
    """
    modules = modules_by_value() if modules is None else modules
    if is_by_value(type(value).__module__, modules):
        return None
    try:
        packed = dumps(value)
    except (pickle.PicklingError, AttributeError):
        return None  # some code has no name
    for name in _pickled_names(modules):
        if name in packed:
            return None
    return packed


@functools.lru_cache(maxsize=4)
def _pickled_names(modules: frozenset[str]) -> list[bytes]:
    """Return how pickles contain the names of modules, whatever else they contain."""
    return [_pickled_text(name.encode(errors="surrogatepass")) for name in modules]


def _pickled_text(text: bytes) -> bytes:
    size = len(text)
    head = b"\x8c%c" % size if size < 256 else b"X" + size.to_bytes(4, "little")
    return head + text
