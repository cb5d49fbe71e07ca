"""What Relay answers the base of IRs: texts, Python's syntax, what passes may do."""

from __future__ import annotations

from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.operators.op_table import Op
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.tenants import Annotate, FunctionPrinter, Tenant, register_tenant
from parpass.relay.expr import Call, Expr, Function, as_expr, eta_expanded
from parpass.relay.text.brief import brief
from parpass.runtime.registry import declare_functions
from parpass.transform import Pass


class RelayTenant(Tenant):
    """Relay, in the namespace `relay`; passes that name no kind see its functions."""

    function_kind = ""
    text_header = '#[version = "0.0.5"]\n'

    def text(
        self,
        node: Expr,
        *,
        show_meta_data: bool = False,
        annotate: Annotate | None = None,
    ) -> str:
        """Return an expression in Relay's text format."""
        from parpass.relay.text.printer import astext  # workers print nothing

        return astext(node, show_meta_data=show_meta_data, annotate=annotate)

    def printer(self, annotate: Annotate | None = None) -> FunctionPrinter:
        """Return what writes functions in Relay's text format."""
        from parpass.relay.text.printer import RelayPrinter  # workers print nothing

        return RelayPrinter(annotate)

    def brief(self, node: Expr) -> str:
        """Return what tells an expression from others of its kind."""
        return brief(node)

    def as_function(self, node: Expr, mod: IRModule) -> Function:
        """Return a function that calls a global one, or a constant function."""
        if isinstance(node, GlobalVar):
            return eta_expanded(node, mod[node])
        return Function((), node)

    def closed(self, node: Expr) -> Function:
        """Return a function over the free variables and type variables."""
        # Analyses are loaded when first used, which is not by importing relay.
        from parpass.relay.analysis import free_type_vars, free_vars

        types = tuple(free_type_vars(node))
        return Function(tuple(free_vars(node)), node, None, types)

    def call(self, callee: Expr, args: tuple[Expr, ...]) -> Call:
        """Return a call."""
        return Call(callee, args)

    def operator(self, name: str, *operands: Any) -> Call:
        """Return a call of the operator of that name; numbers become constants."""
        return Call(Op.get(name), tuple(map(as_expr, operands)))

    def cast(self, node: Expr, dtype: str) -> Call:
        """Return a cast."""
        from parpass.relay.op import cast  # operators load when first used

        return cast(node, dtype)

    def library(self, file_name: str) -> IRModule:
        """Return a file of the standard library."""
        from parpass.relay.std.library import library  # for those that ask alone

        return library(file_name)

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

    def keeps_signature(self, before: Function, after: Function) -> bool:
        """Return whether annotated types are equal; most often they are the same."""
        if (
            before.params == after.params  # the same ones: nodes equal but themselves
            and before.ret_type is after.ret_type
            and before.type_params == after.type_params
        ):
            return True
        return super().keeps_signature(before, after)

    def restoring_pass(self) -> Pass:
        """Return InferType, which gives rewritten functions their types again."""
        # Imported with the tenant, it would be in each worker, needed or not.
        from parpass.relay.transform.infer_type import InferType

        return InferType()

    def is_restored(self, function: Function) -> bool:
        """Return whether it has types."""
        return function.checked_type_ is not None

    def faults(self, function: Function, mod: IRModule) -> list[str]:
        """Return where variables, globals and types break Relay's rules."""
        from parpass.relay.analysis import function_faults  # few look for them

        return function_faults(function, mod)


register_tenant("relay", RelayTenant())
declare_functions("parpass.relay.transform.shipped")
declare_functions("parpass.relay.typing.env_relations")
declare_functions("parpass.relay.backend.lowering.lower_te")
