"""The module adapter of `IRModule`: what passes need to know of the functions in it.

They may be of several IRs, each of which answers for its own (`parpass.ir.tenants`): a
function pass of one sees the functions of that one alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parpass.errors import StructuralMismatchError
from parpass.ir import wire
from parpass.ir.declared import load_irs
from parpass.ir.ledger import ledger_entry
from parpass.ir.module import IRModule
from parpass.ir.node import count_nodes
from parpass.ir.references import reachable_part
from parpass.ir.relay_expr import BaseFunc
from parpass.ir.tenants import Tenant, tenant_of, tenants
from parpass.transform import (
    Excerpt,
    KeepOutside,
    ModuleAdapter,
    Pass,
    Source,
    Textual,
    register_adapter,
    registered_programs,
)


class IRModuleAdapter(ModuleAdapter):
    """Handles `IRModule`s; see `parpass.transform.ModuleAdapter` for the methods."""

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
        """Return a copy with these functions, which `reader` may not write to."""
        return IRModule.assemble(mod, functions, reader=reader)

    def is_module(self, value: Any) -> bool:
        """Return whether this is an IRModule."""
        return isinstance(value, IRModule)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a function, of any IR."""
        return isinstance(value, BaseFunc)

    def kind_of(self, function: BaseFunc) -> str | None:
        """Return what its IR says."""
        return tenant_of(function).function_kind

    def is_skipped(self, function: BaseFunc) -> bool:
        """Return what its IR says."""
        return tenant_of(function).is_skipped(function)

    def signature(self, function: BaseFunc) -> Any | None:
        """Return the type that the function states."""
        return function.annotated_type

    def keeps_signature(self, before: BaseFunc, after: BaseFunc) -> bool:
        """Return what its IR says; one of another IR now has to state the same."""
        tenant = tenant_of(before)
        if tenant_of(after) is not tenant:
            return Tenant.keeps_signature(tenant, before, after)
        return tenant.keeps_signature(before, after)

    def size(self, function: BaseFunc, limit: int) -> int:
        """Return the number of nodes."""
        entry = ledger_entry(function)
        if entry is not None:
            return min(entry.nodes, limit)
        return count_nodes(function, limit)

    def programs(self, mod: IRModule) -> Textual:
        """Return what knows the text of the IR of its first function."""
        known = registered_programs()
        for function in mod.functions_by_name.values():
            if function.namespace not in known:
                load_irs()  # an IR may be in use, and its texts not known yet
                known = registered_programs()
            return known.get(function.namespace, self)
        return next(iter(known.values()), self)

    def astext(self, mod: IRModule, *, show_meta_data: bool = True) -> str:
        """Return a module in the text of its IR."""
        return mod.astext(show_meta_data=show_meta_data)

    def restoring_pass(self, kind: str) -> Pass | None:
        """Return what the IR of that kind of functions says."""
        for tenant in tenants():
            if tenant.function_kind == kind:
                return tenant.restoring_pass()
        return None

    def faults(self, function: BaseFunc, mod: IRModule) -> Sequence[str]:
        """Return where its IR's rules are broken."""
        return tenant_of(function).faults(function, mod)

    def excerpt(self, mod: IRModule, function: str | None) -> Excerpt:
        """Return a function, and those that it calls, directly or not, as text."""
        part = mod if function is None else reachable_part(mod, [function])
        typed = all(
            tenant_of(one).is_restored(one) for one in part.functions_by_name.values()
        )
        return Excerpt(self.programs(part).astext(part), is_restored=typed)

    def difference(self, before: BaseFunc, after: BaseFunc) -> str | None:
        """Return the path of the first difference, and both sides."""
        # Only runs that are checked compare functions.
        from parpass.ir.structure.structural import assert_structural_equal

        try:
            assert_structural_equal(before, after)
        except StructuralMismatchError as error:
            return str(error)
        return None

    def encode_function(self, function: BaseFunc, keep_outside: KeepOutside) -> bytes:
        """Return a function as bytes."""
        return wire.encode(function, keep_outside)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: IRModule
    ) -> Any:
        """Return a function, its references bound to the global variables of `mod`."""
        return wire.decode(
            encoded, outside, mod.global_vars_by_name, mod.types.constructors
        )

    def open_encoder(
        self, keep_outside: KeepOutside
    ) -> Callable[[BaseFunc], bytes | None]:
        """Return what encodes functions in one run."""
        return wire.open_encoder(keep_outside)

    def open_decoder(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: IRModule
    ) -> Callable[[], Any]:
        """Return what decodes them, their references bound as in `decode_function`."""
        return wire.open_decoder(
            encoded, outside, mod.global_vars_by_name, mod.types.constructors
        )

    def encode_shell(self, mod: IRModule) -> bytes:
        """Return global variables, types, attributes and source texts as bytes."""
        names, known = list(mod.functions_by_name), mod.told_of_globals
        types = tuple(mod.types.by_name.values())
        shell = (names, mod.attrs, mod.sources, known, types)
        return pickle.dumps(shell, protocol=5)

    def decode_shell(self, encoded: bytes) -> IRModule:
        """Return a module without functions, but with their global variables."""
        return IRModule.shell(*pickle.loads(encoded))  # written by a coordinator


register_adapter(
    IRModule,
    IRModuleAdapter(),
    passes_in=("parpass.relay", "parpass.tir", "parpass.target"),
)
