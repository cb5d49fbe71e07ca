"""Relay's module adapter: all that the machine is told about this IR."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parpass.errors import StructuralMismatchError
from parpass.ir import wire
from parpass.ir.ledger import ledger_entry
from parpass.ir.module import IRModule
from parpass.ir.node import count_nodes
from parpass.ir.ty import FuncType
from parpass.relay.expr import Expr, Function
from parpass.runtime.registry import declare_functions
from parpass.transform import (
    Excerpt,
    KeepOutside,
    ModuleAdapter,
    Pass,
    Source,
    register_adapter,
    register_wrapping,
)


class RelayAdapter(ModuleAdapter):
    """Handles `IRModule`s; see `parpass.transform.ModuleAdapter` for the methods."""

    def functions(self, mod: IRModule) -> Mapping[str, Function]:
        """Return all functions by name."""
        return mod.functions_by_name

    def with_functions(
        self, mod: IRModule, functions: Mapping[str, Function]
    ) -> IRModule:
        """Return a copy with these functions."""
        return IRModule.assemble(mod, functions)

    def read_only(
        self, mod: IRModule, functions: Mapping[str, Function], reader: str
    ) -> IRModule:
        """Return a copy with these functions, which `reader` may not write to."""
        return IRModule.assemble(mod, functions, reader=reader)

    def is_module(self, value: Any) -> bool:
        """Return whether this is an IRModule."""
        return isinstance(value, IRModule)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a Function."""
        return isinstance(value, Function)

    def is_skipped(self, function: Function) -> bool:
        """Return whether the function is not ours to optimise.

        That is what a foreign compiler takes (`Compiler`), what is defined elsewhere
        (`Extern`), and what the user excludes (`SkipOptimization`).
        """
        return function.attrs is not None and (
            "Compiler" in function.attrs
            or function.has_nonzero_attr("SkipOptimization")
            or function.has_nonzero_attr("Extern")
        )

    def signature(self, function: Function) -> FuncType | None:
        """Return the annotated type."""
        return function.annotated_type

    def keeps_signature(self, before: Function, after: Function) -> bool:
        """Return whether annotated types are equal; most often they are the same."""
        if (
            before.params is after.params
            and before.ret_type is after.ret_type
            and before.type_params == after.type_params
        ):
            return True
        stated = before.annotated_type
        return stated is None or stated == after.annotated_type

    def size(self, function: Function, limit: int) -> int:
        """Return the number of nodes."""
        entry = ledger_entry(function)
        if entry is not None:
            return min(entry.nodes, limit)
        return count_nodes(function, limit)

    def restoring_pass(self) -> Pass:
        """Return InferType, which gives rewritten functions their types again."""
        # Imported with the adapter, it would be in each worker, needed or not.
        from parpass.relay.transform.infer_type import InferType

        return InferType()

    def faults(self, function: Function, mod: IRModule) -> list[str]:
        """Return where variables, globals and types break Relay's rules."""
        from parpass.relay.analysis import function_faults  # few look for them

        return function_faults(function, mod)

    def excerpt(self, mod: IRModule, function: str | None) -> Excerpt:
        """Return a function, and those that it calls, directly or not, as text."""
        part = mod if function is None else _needed_by(mod, function)
        typed = all(
            one.checked_type_ is not None for one in part.functions_by_name.values()
        )
        return Excerpt(part.astext(), is_restored=typed)

    def difference(self, before: Function, after: Function) -> str | None:
        """Return the path of the first difference, and both sides."""
        # Only runs that are checked compare functions.
        from parpass.ir.structure.structural import assert_structural_equal

        try:
            assert_structural_equal(before, after)
        except StructuralMismatchError as error:
            return str(error)
        return None

    def encode_function(self, function: Function, keep_outside: KeepOutside) -> bytes:
        """Return a function as bytes."""
        return wire.encode(function, keep_outside)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: IRModule
    ) -> Function:
        """Return a function, its references bound to the global variables of `mod`."""
        return wire.decode(encoded, outside, mod.global_vars_by_name)

    def open_encoder(
        self, keep_outside: KeepOutside
    ) -> Callable[[Function], bytes | None]:
        """Return what encodes functions in one run."""
        return wire.open_encoder(keep_outside)

    def open_decoder(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: IRModule
    ) -> Callable[[], Function]:
        """Return what decodes them, their references bound as in `decode_function`."""
        return wire.open_decoder(encoded, outside, mod.global_vars_by_name)

    def encode_shell(self, mod: IRModule) -> bytes:
        """Return global variables, attributes and source texts as bytes."""
        names, known = list(mod.functions_by_name), mod.told_of_globals
        return pickle.dumps((names, mod.attrs, mod.sources, known), protocol=5)

    def decode_shell(self, encoded: bytes) -> IRModule:
        """Return a module without functions, but with their global variables."""
        return IRModule.shell(*pickle.loads(encoded))  # written by a coordinator


def _needed_by(mod: IRModule, function: str) -> IRModule:
    from parpass.relay.analysis import called_globals  # for reproducers alone

    needed: dict[str, Function] = {}
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name not in needed and name in mod:
            needed[name] = mod[name]
            waiting += [var.name_hint for var in called_globals(needed[name])]
    in_order = {name: needed[name] for name in mod.functions_by_name if name in needed}
    return IRModule.assemble(mod, in_order)


def _wrapped(expr: Expr) -> tuple[IRModule, Callable[[IRModule], Expr]]:
    mod = IRModule.from_expr(expr)
    [name] = mod.functions_by_name

    def unwrapped(result: IRModule) -> Expr:
        function = result[name]
        return function if isinstance(expr, Function) else function.body

    return mod, unwrapped


register_adapter(IRModule, RelayAdapter())
register_wrapping(Expr, _wrapped)
declare_functions("parpass.relay.transform.shipped")
