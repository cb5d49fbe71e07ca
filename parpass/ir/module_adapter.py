"""The module adapter of `IRModule`.

A module may hold functions of several IRs; each call is delegated to the function's
dialect (`parpass.ir.dialect`). A function pass sees the functions of one IR alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parpass.ir import wire
from parpass.ir.base_func import BaseFunc
from parpass.ir.dialect import Dialect, dialect_of, dialects, load_dialects
from parpass.ir.inference_cache import cached_inference
from parpass.ir.module import IRModule
from parpass.ir.module.reachability import extract_reachable
from parpass.ir.node import count_nodes
from parpass.ir.types import Type
from parpass.ir.types.type_structure import digest, is_complete
from parpass.transform import (
    BlobSink,
    ModuleAdapter,
    Pass,
    ProgramFormat,
    ProgramSlice,
    Source,
    register_adapter,
    registered_programs,
)
from parpass.transform.codecs import StoreCodec


class IRModuleAdapter(ModuleAdapter):
    """Module adapter of `IRModule`; see `parpass.transform.ModuleAdapter`."""

    module_type = IRModule
    function_type = BaseFunc
    mutability = None  # nodes are frozen

    def functions(self, mod: IRModule) -> Mapping[str, BaseFunc]:
        """Return all functions by name."""
        return mod.functions_by_name

    def with_functions(
        self, mod: IRModule, functions: Mapping[str, BaseFunc]
    ) -> IRModule:
        """Return a copy with these functions."""
        return IRModule.assemble(mod, functions)

    def read_only(
        self, mod: IRModule, functions: Mapping[str, BaseFunc], reader: str
    ) -> IRModule:
        """Return a copy with these functions that is read-only for `reader`."""
        return IRModule.assemble(mod, functions, reader=reader)

    def kind_of(self, function: BaseFunc) -> str | None:
        """Return the function kind of the dialect."""
        return dialect_of(function).function_kind

    def is_skipped(self, function: BaseFunc) -> bool:
        """Return the dialect's `is_skipped`."""
        return dialect_of(function).is_skipped(function)

    def signature(self, function: BaseFunc) -> Any | None:
        """Return the annotated type of the function."""
        return function.annotated_type

    def keeps_signature(self, before: BaseFunc, after: BaseFunc) -> bool:
        """Return the dialect's `keeps_signature`; across dialects compare the types."""
        dialect = dialect_of(before)
        if dialect_of(after) is not dialect:
            return Dialect.keeps_signature(dialect, before, after)
        return dialect.keeps_signature(before, after)

    def size(self, function: BaseFunc, limit: int) -> int:
        """Return the number of nodes."""
        entry = cached_inference(function)
        if entry is not None:
            return min(entry.nodes, limit)
        return count_nodes(function, limit)

    def programs(self, mod: IRModule) -> ProgramFormat:
        """Return the program format of the first function's IR."""
        known = registered_programs()
        for function in mod.functions_by_name.values():
            if function.namespace not in known:
                load_dialects()  # an IR may be in use, and its texts not known yet
                known = registered_programs()
            return known.get(function.namespace, self)
        return next(iter(known.values()), self)

    def astext(self, mod: IRModule, *, show_meta_data: bool = True) -> str:
        """Return a module in the text of its IR."""
        return mod.astext(show_meta_data=show_meta_data)

    def restoring_pass(self, kind: str) -> Pass | None:
        """Return the restoring pass of the dialect with that function kind."""
        for dialect in dialects():
            if dialect.function_kind == kind:
                return dialect.restoring_pass()
        return None

    def faults(self, function: BaseFunc, mod: IRModule) -> Sequence[str]:
        """Return the violations of its IR's rules."""
        return dialect_of(function).faults(function, mod)

    def program_slice(self, mod: IRModule, function: str | None) -> ProgramSlice:
        """Return a function, and those that it calls, directly or not, as text."""
        part = mod if function is None else extract_reachable(mod, [function])
        typed = all(
            dialect_of(one).is_restored(one) for one in part.functions_by_name.values()
        )
        return ProgramSlice(self.programs(part).astext(part), is_restored=typed)

    def function_text(self, name: str, function: BaseFunc, mod: IRModule) -> str:
        """Return the text of a function, without types and attributes of the module."""
        printer = dialect_of(function).printer(None)
        return printer.function(name, function).rstrip("\n")

    def difference(self, before: BaseFunc, after: BaseFunc) -> str | None:
        """Return the path of the first difference, with both sides."""
        # Only runs that are checked compare functions.
        from parpass.ir.structural import structural_difference

        return structural_difference(before, after)

    def encode_function(self, function: BaseFunc, blob_sink: BlobSink) -> bytes:
        """Encode a function as bytes."""
        return wire.encode(function, blob_sink)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: IRModule
    ) -> Any:
        """Decode a function, its references bound to the global variables of `mod`."""
        return wire.decode(
            encoded, sources, mod.global_vars_by_name, mod.types.constructors
        )

    def open_encoder(self, blob_sink: BlobSink) -> Callable[[BaseFunc], bytes | None]:
        """Return an encoder of the functions of a batch."""
        return wire.open_encoder(blob_sink)

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: IRModule
    ) -> Callable[[], Any]:
        """Return a decoder of a batch; references are bound as in `decode_function`."""
        return wire.open_decoder(
            encoded, sources, mod.global_vars_by_name, mod.types.constructors
        )

    def encode_content(
        self, function: BaseFunc, mod: IRModule, blob_sink: BlobSink
    ) -> bytes:
        """Encode a function, and what its references show of others."""
        names: set[str] = set()
        encoded = wire.encode(function, blob_sink, names)
        if not names:
            return encoded
        shown = [(name, self.encode_reference(mod, name)) for name in sorted(names)]
        return pickle.dumps((encoded, shown), protocol=5)

    def encode_signature(self, signature: Type | None) -> bytes:
        """Return the digest of a type.

        Raises:
            ValueError: A part of it is left open, which is equal to itself alone.
        """
        if signature is None:
            return b""
        if not is_complete(signature):
            raise ValueError(f"expected a complete type, got {signature}")
        return digest(signature)

    def encode_reference(self, mod: IRModule, name: str) -> bytes:
        """Encode the place and the type of a global variable."""
        var = mod.global_vars_by_name.get(name)
        if var is None:
            return b"?"
        known = var.checked_type_
        if var.span is None and known is None:
            return b""
        place = repr(var.span).encode(errors="surrogatepass")
        if known is not None and is_complete(known):
            return digest(known) + place
        return pickle.dumps((known, place), protocol=5)

    def encode_context(self, mod: IRModule) -> bytes:
        """Encode types and attributes."""
        types = tuple(mod.types.by_name.values())
        return pickle.dumps((mod.attrs, types), protocol=5)

    def store_codec(self, mod: IRModule) -> StoreCodec:
        """Return a codec whose functions name no code."""
        # Only for stores on disk.
        from parpass.ir.serialization.store_codec import IRStoreCodec

        return IRStoreCodec(mod)

    def bound_objects(self, mod: IRModule) -> Mapping[str, Any]:
        """Return global variables and constructors: functions refer to those."""
        constructors = mod.types.constructors
        if not constructors:
            return mod.global_vars_by_name
        named = {f"{of}.{name}": one for (of, name), one in constructors.items()}
        return {**mod.global_vars_by_name, **named}

    def encode_shell(self, mod: IRModule) -> bytes:
        """Encode global variables, types, attributes and source texts as bytes."""
        names, known = list(mod.functions_by_name), mod.global_var_infos
        types = tuple(mod.types.by_name.values())
        shell = (names, mod.attrs, mod.sources, known, types)
        return pickle.dumps(shell, protocol=5)

    def decode_shell(self, encoded: bytes) -> IRModule:
        """Return a module without functions, but with the encoded global variables."""
        return IRModule.shell(*pickle.loads(encoded))  # written by a coordinator


register_adapter(
    IRModule,
    IRModuleAdapter(),
    passes_in=("parpass.relay", "parpass.tir", "parpass.target"),
)
