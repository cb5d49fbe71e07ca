"""`CompiledFunc`: a function of a module that is already machine code, and its store.

Compiled functions are taken from the store of objects, and each is added to it as soon
as it is compiled: if a build fails, is interrupted or killed, the next one need not
compile them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from parpass.ir.base_func import BaseFunc
from parpass.ir.dialect import Dialect, register_dialect
from parpass.ir.node import Node, reflected
from parpass.ir.types import FuncType, TensorType
from parpass.object_store import ObjectStore
from parpass.runtime.signature import Signature
from parpass.target.target import Target
from parpass.tir.function import PrimFunc, kernel_type


@reflected(is_graph=False)
class CompiledFunc(BaseFunc, frozen=True, eq=False):
    """An object file with one function, and its calling interface.

    Passes on other kinds of functions skip it.

    Attributes:
        code: The object, in the format of the target's system.
        interface: The calling interface, as JSON.
        target: The resolved target, as text.
        attrs: The attributes of the original function.
    """

    namespace: ClassVar[str] = "target"

    code: bytes
    interface: str
    target: str
    attrs: Mapping[str, Any] | None = None

    @property
    def annotated_type(self) -> FuncType | None:
        """The type of a kernel, from tensors to tensors; None for other functions."""
        outputs = self.attributes.get(PrimFunc.NUM_OUTPUTS)
        if not outputs:
            return None
        shapes = [(one.shape or (), one.dtype) for one in self.signature.parameters]
        return kernel_type([TensorType(*cast("Any", one)) for one in shapes], outputs)

    @property
    def signature(self) -> Signature:
        """The C signature of the function."""
        return Signature.restored(json.loads(self.interface))


class _CompiledDialect(Dialect):
    function_kind = "target"

    def brief(self, node: Node) -> str:
        if not isinstance(node, CompiledFunc):
            return ""
        parameters = ", ".join(one.name for one in node.signature.parameters)
        return f"{node.signature.symbol}({parameters}), {len(node.code)} bytes"


register_dialect("target", _CompiledDialect())


_SIZE = 4  # bytes that tell how long an interface is


@dataclass(frozen=True)
class CompiledFuncCache:
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

    def for_workers(self) -> CompiledFuncCache:
        """Return the same for the workers of a build; see `ObjectStore.for_workers`."""
        return CompiledFuncCache(self.store.for_workers(), self.keys)

    def complete(self, functions: Mapping[str, object]) -> None:
        """Keep those that their makers could not, and drop what is too much.

        A worker may not have been let in, or be on another machine.

        Args:
            functions: By symbol; of these the compiled ones.
        """
        compiled = {
            key: _kept(function)
            for symbol, key in self.keys.items()
            if isinstance(function := functions.get(symbol), CompiledFunc)
        }
        self.store.put_missing(compiled)
        self.store.drop_old()


def _kept(function: CompiledFunc) -> bytes:
    interface = function.interface.encode()
    return len(interface).to_bytes(_SIZE, "little") + interface + function.code


def _restored(data: bytes, target: Target) -> CompiledFunc:
    begin = _SIZE + int.from_bytes(data[:_SIZE], "little")
    return CompiledFunc(data[begin:], data[_SIZE:begin].decode(), str(target))
