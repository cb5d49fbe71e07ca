"""Which functions InferType has been through, so that it need not go again.

A function and its nodes never change, so this very object is typed as long as the
global functions that it refers to have the types that they had then. What is known
travels with the function between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from parpass.relay.expr import Function
from parpass.relay.ty import FuncType

UsedGlobals = Mapping[str, FuncType]

_typed: WeakKeyDictionary[Function, UsedGlobals] = WeakKeyDictionary()


def remember_typed(function: Function, used: UsedGlobals) -> None:
    """Take down that InferType gave this function, with the global types it used."""
    _typed[function] = used


def typed_under(function: Function) -> UsedGlobals | None:
    """Return the global types under which a function is typed, None if unknown."""
    return _typed.get(function)
