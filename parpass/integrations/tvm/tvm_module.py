"""TVM's PrimFuncs as the functions of a module, and the adapter of such modules.

An `IRModule` of TVM's holds functions that refer to each other by objects, and others
than PrimFuncs. Passes over functions are given the PrimFuncs alone; `TVMModule.onto`
puts what they made into the module that they are from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi

from parpass.errors import ArgumentError
from parpass.integrations.tvm.graph_codec import (
    decode,
    encode,
    global_names,
    unify_globals,
)
from parpass.integrations.tvm.tested_versions import warn_if_untested
from parpass.spi import (
    BlobSink,
    ModuleAdapter,
    PortableCodec,
    Source,
    first_difference,
    register_adapter,
)

_NODE_BYTES = 45  # of a node that is encoded, about


class TVMFunction:
    """A PrimFunc, or the bytes that it is decoded from when it is first asked for.

    Args:
        prim_func: The PrimFunc.
    """

    def __init__(self, prim_func: Any) -> None:
        self._prim_func = prim_func
        self._encoded = b""

    @classmethod
    def of_bytes(cls, encoded: bytes) -> TVMFunction:
        """Return a function from what `encoded` of it was."""
        made = cls(None)
        made._encoded = encoded
        return made

    @property
    def prim_func(self) -> Any:
        """The `tvm.tirx.PrimFunc`."""
        if self._prim_func is None:
            self._prim_func = decode(self._encoded)
        return self._prim_func

    @property
    def encoded(self) -> bytes:
        """The bytes.

        Raises:
            ArgumentError: It holds what belongs to this process.
        """
        if not self._encoded:
            self._encoded = encode(self._prim_func)
        return self._encoded

    @property
    def size(self) -> int:
        """The number of nodes, about."""
        return len(self.encoded) // _NODE_BYTES

    def replaced(self, prim_func: Any) -> TVMFunction:
        """Return this function if that is its PrimFunc, else one of that."""
        return self if prim_func.same_as(self.prim_func) else TVMFunction(prim_func)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TVMFunction):
            return NotImplemented
        return self is other or self.encoded == other.encoded

    def __hash__(self) -> int:
        return hash(self.encoded)

    def __str__(self) -> str:
        return self.prim_func.script()

    def __reduce__(self) -> tuple[Any, ...]:
        return TVMFunction.of_bytes, (self.encoded,)


@dataclass(frozen=True)
class TVMModule:
    """A module: the PrimFuncs of one of TVM's by name, in its order.

    Attributes:
        functions: They.
    """

    functions: Mapping[str, TVMFunction]

    @classmethod
    def of(cls, mod: Any) -> TVMModule:
        """Return the PrimFuncs of an IRModule, or one PrimFunc as `main`.

        Raises:
            ArgumentError: It is neither.
        """
        if isinstance(mod, tvm.tirx.PrimFunc):
            mod = tvm.IRModule.from_expr(mod)
        if not isinstance(mod, tvm.IRModule):
            raise ArgumentError(
                f"expected an IRModule or a PrimFunc of TVM, got {type(mod).__name__}"
            )
        return cls(
            {
                str(name.name_hint): TVMFunction(function)
                for name, function in mod.functions.items()
                if isinstance(function, tvm.tirx.PrimFunc)
            }
        )

    def to_tvm(self) -> Any:
        """Return an IRModule with these functions alone."""
        return self.onto(tvm.IRModule())

    def onto(self, mod: Any) -> Any:
        """Return an IRModule like `mod`, with these functions in place of its own.

        `mod` stays as it is, and other functions than PrimFuncs are kept.
        """
        known = {str(one.name_hint): one for one in mod.functions}
        kept = {
            name: function
            for name, function in mod.functions.items()
            if not isinstance(function, tvm.tirx.PrimFunc)
        }
        made: dict[Any, Any] = {}
        refers = False
        for name, function in self.functions.items():
            variable = known.get(name) or tvm.ir.GlobalVar(name)
            made[variable] = function.prim_func
            if name not in known or not mod[variable].same_as(function.prim_func):
                refers = refers or bool(global_names(function.encoded))
        new = tvm.IRModule(kept | made, attrs=mod.attrs, global_infos=mod.global_infos)
        return unify_globals(new) if refers else new

    def __str__(self) -> str:
        return self.to_tvm().script()


class TVMAdapter(ModuleAdapter):
    """Handles `TVMModule`s; see `parpass.transform.ModuleAdapter` for the methods."""

    ir_name = "tvm"

    def functions(self, mod: TVMModule) -> Mapping[str, TVMFunction]:
        """Return the functions."""
        return mod.functions

    def with_functions(
        self, mod: TVMModule, functions: Mapping[str, TVMFunction]
    ) -> TVMModule:
        """Return these functions as a module."""
        return TVMModule(functions)

    def is_module(self, value: Any) -> bool:
        """Return whether this is a module of PrimFuncs."""
        return isinstance(value, TVMModule)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a PrimFunc in its box."""
        return isinstance(value, TVMFunction)

    def size(self, function: TVMFunction, limit: int) -> int:
        """Return about how many nodes there are."""
        return min(function.size, limit)

    def difference(self, before: TVMFunction, after: TVMFunction) -> str | None:
        """Return the first difference of two functions, regarding names of variables.

        Which equal parts are one object, and spans, are left out: TVM's passes read
        neither, and it shares some constants in a process.
        """
        if before == after:
            return None
        in_text = first_difference(str(before), str(after))
        if in_text is not None:
            return in_text
        found = tvm_ffi.get_first_structural_mismatch(before.prim_func, after.prim_func)
        return None if found is None else f"what texts do not show, at {found[0]}"

    def encode_function(self, function: TVMFunction, blob_sink: BlobSink) -> bytes:
        """Return a function as bytes."""
        return function.encoded

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: TVMModule
    ) -> TVMFunction:
        """Return a function from bytes; nodes are made when a pass asks for them."""
        return TVMFunction.of_bytes(bytes(encoded))

    def encode_shell(self, mod: TVMModule) -> bytes:
        """Return nothing: there is nothing but functions."""
        return b""

    def decode_shell(self, encoded: bytes) -> TVMModule:
        """Return a module without functions."""
        return TVMModule({})

    def portable_codec(self, mod: TVMModule) -> PortableCodec:
        """Return the codec of functions, whose bytes name no code."""
        return _OnDisk()

    def parse(self, text: str, source_name: str) -> TVMModule:
        """Return the PrimFuncs of TVMScript, which TVM reads as it reads Python.

        Raises:
            Exception: What TVM raises for what it cannot read.
            ArgumentError: There are other functions than PrimFuncs.
        """
        mod = tvm.script.from_source(text)
        if isinstance(mod, tvm.IRModule):
            for name, function in mod.functions.items():
                if not isinstance(function, tvm.tirx.PrimFunc):
                    raise ArgumentError(
                        f"expected PrimFuncs in '{source_name}', got a "
                        f"{type(function).__module__}.{type(function).__name__}, "
                        f"'{name.name_hint}'"
                    )
        return TVMModule.of(mod)

    def astext(self, mod: TVMModule, *, show_meta_data: bool = True) -> str:
        """Return a module as TVMScript, without metadata.

        TVM ends the process with apache-tvm-ffi 0.1.15 where it writes them.
        """
        return str(mod) + "\n"


class _OnDisk:
    def __init__(self) -> None:
        self._prefix = f"{tvm.__version__}\n".encode()

    def encode(self, function: TVMFunction, blob_sink: BlobSink) -> bytes:
        return self._prefix + function.encoded

    def decode(self, encoded: bytes) -> TVMFunction:
        if not encoded.startswith(self._prefix):
            raise ValueError("of another version of TVM")
        found = TVMFunction.of_bytes(encoded[len(self._prefix) :])
        if not isinstance(found.prim_func, tvm.tirx.PrimFunc):
            raise ValueError("not a PrimFunc")
        return found


warn_if_untested()
register_adapter(TVMModule, TVMAdapter(), passes_in=["parpass.integrations.tvm"])
