"""Compiled functions in the store of objects: taken from it, and added one by one.

Each is added by who made it, at once: what a build had compiled when it failed, was
interrupted or killed, the next one need not compile again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parpass.target.compiled_func import CompiledFunc
from parpass.target.object_store import ObjectStore
from parpass.target.target import Target

_SIZE = 4  # bytes that tell how long an interface is


@dataclass(frozen=True)
class KeptObjects:
    """A store, and the keys that some functions have in it.

    Args:
        store: The store.
        keys: The keys of functions by symbol.
    """

    store: ObjectStore
    keys: Mapping[str, str]

    def of_earlier_builds(self, target: Target) -> dict[str, CompiledFunc]:
        """Return the functions that are there, by symbol."""
        known = self.store.get(self.keys.values())
        return {
            symbol: _restored(known[key], target)
            for symbol, key in self.keys.items()
            if key in known
        }

    def add(self, symbol: str, function: CompiledFunc) -> None:
        """Keep a function, if its symbol has a key."""
        key = self.keys.get(symbol)
        if key is not None:
            self.store.put({key: _kept(function)})


def _kept(function: CompiledFunc) -> bytes:
    interface = function.interface.encode()
    return len(interface).to_bytes(_SIZE, "little") + interface + function.code


def _restored(data: bytes, target: Target) -> CompiledFunc:
    begin = _SIZE + int.from_bytes(data[:_SIZE], "little")
    return CompiledFunc(data[begin:], data[_SIZE:begin].decode(), str(target))
