"""Unpickling of code by value, and the functions that such pickles name.

It loads nothing: `code_pickler`, which writes such pickles, loads cloudpickle.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import weakref
from collections.abc import Callable
from typing import Any

from parpass.transform.identity_memo import IdentityMemo

# Before a pickle that may have code by value: opcodes that push None, and drop it.
CODE_MARK = b"N0"
CACHED = type(functools.cache(len))  # the class of cached functions
_CLASS_STATE = "_class_setstate"  # a function of cloudpickle
# What from Python 3.14 on a class keeps under another name than it is set by.
_SET_ONLY = {"__annotations__", "__annotate__"}


def unpickle(packed: bytes | memoryview) -> Any:
    """Unpickle a value; code that this process has is found and left unchanged."""
    if not has_code(packed):
        return pickle.loads(packed)  # the common case
    return CodeUnpickler(io.BytesIO(packed)).load()  # from a process of parpass


def has_code(packed: bytes | memoryview) -> bool:
    """Return whether a pickle may have code by value."""
    return packed[: len(CODE_MARK)] == CODE_MARK


# The numbers of functions that were pickled by value, or came so.
_numbers = IdentityMemo[bytes]()
_own = weakref.WeakValueDictionary[bytes, Any]()  # those that are from here, by number


def number_of(function: Any) -> bytes:
    """Return the number by which all processes know a function that goes by value."""
    number = _numbers.get(function)
    if number is None:
        number = os.urandom(16)
        _own[number] = function  # before other threads, or a forked child, have it
        _numbers.put(function, number)
    return number


def make_function(number: bytes, make: Callable[..., Any], *args: Any) -> Any:
    """Make the copy of a function, in the form that pickle calls."""
    made = make(*args)
    _numbers.put(made, number)
    return made


def set_function_state(function: Any, state: tuple[Callable[..., Any], Any]) -> None:
    put, own = state
    put(function, own)


def _find_function(number: bytes, make: Callable[..., Any], *args: Any) -> Any:
    found = _own.get(number)
    return make_function(number, make, *args) if found is None else found


def _set_copy_state(function: Any, state: tuple[Callable[..., Any], Any]) -> None:
    if _own.get(_numbers.get(function) or b"") is not function:
        set_function_state(function, state)


class CodeUnpickler(pickle.Unpickler):
    """An unpickler that finds the code of this process, and leaves it unchanged.

    Values from a worker may contain functions and classes that went there by value, and
    functions are equal to themselves only. Of classes, cloudpickle finds the originals
    in this process, and would set their methods and attributes to those of the copies,
    which refer to globals of the worker.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        found = super().find_class(module_name, global_name)
        if found is make_function:
            return _find_function
        if found is set_function_state:
            return _set_copy_state
        if global_name == _CLASS_STATE and module_name.startswith("cloudpickle"):
            return functools.partial(_restore_class_once, found)
        return found


def _restore_class_once(
    set_state: Callable[[type, Any], type], kind: type, state: Any
) -> type:
    attributes = state[0].keys() - _SET_ONLY
    return kind if attributes <= vars(kind).keys() else set_state(kind, state)
