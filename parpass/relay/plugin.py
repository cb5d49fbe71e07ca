"""The plug-in of Relay: its dialect, program formats, wrapped expressions, options.

Programs of Relay and of loops share one text, in which functions of both kinds may
stand. A program's format follows from its file's suffix and its first function. A pass
may be called on a Relay expression, which is wrapped in a module for that.

Options: FuseOps, Inline and DefuseOps read TVM's, FoldConstant and OutlineSegments
options that TVM has not. No shipped pass reads the others: in TVM they
steer the code generator. They are declared so that TVM's contexts are accepted, and a
user's pass finds them in `ctx.config`, converted and with TVM's defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.function_registry import declare_functions
from parpass.ir.dialect import Annotate, Dialect, FunctionPrinter, register_dialect
from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.reduction_rules import ReductionRules
from parpass.relay.expr import Call, Expr, Function, as_expr, eta_expanded
from parpass.relay.text.brief import brief
from parpass.transform import (
    Pass,
    ProgramFormat,
    ReductionPattern,
    register_config_option,
    register_programs,
    register_wrapping,
)


class RelayDialect(Dialect):
    """The dialect `relay`; passes that name no kind of function run on its own."""

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
        """Return a printer of functions in Relay's text format."""
        from parpass.relay.text.printer import RelayPrinter  # workers print nothing

        return RelayPrinter(annotate)

    def brief(self, node: Expr) -> str:
        """Return a short text that identifies an expression, for messages."""
        return brief(node)

    def as_function(self, node: Expr, mod: IRModule) -> Function:
        """Wrap an expression in a function: a global by a call, others as its body."""
        if isinstance(node, GlobalVar):
            return eta_expanded(node, mod[node])
        return Function((), node)

    def closed(self, node: Expr) -> Function:
        """Return a function over an expression's free variables and type variables."""
        # Analyses are loaded when first used, which is not by importing relay.
        from parpass.relay.analysis import free_type_vars, free_vars

        types = tuple(free_type_vars(node))
        return Function(tuple(free_vars(node)), node, None, types)

    def call(self, callee: Expr, args: tuple[Expr, ...]) -> Call:
        """Return a call."""
        return Call(callee, args)

    def operator(self, name: str, *operands: Any) -> Call:
        """Return a call of the named operator; numbers become constants."""
        return Call(Op.get(name), tuple(map(as_expr, operands)))

    def cast(self, node: Expr, dtype: str) -> Call:
        """Return a cast."""
        from parpass.relay.op import cast  # operators load when first used

        return cast(node, dtype)

    def library(self, file_name: str) -> IRModule:
        """Return a file of the standard library as a module."""
        from parpass.relay.std import library  # few programs use it

        return library(file_name)

    def is_skipped(self, function: Function) -> bool:
        """Return whether optimisation passes must leave the function alone.

        That holds for functions of a foreign compiler (`Compiler`), external ones
        (`Extern`), and those that the user excludes (`SkipOptimization`).
        """
        return function.attrs is not None and (
            "Compiler" in function.attrs
            or function.has_nonzero_attr("SkipOptimization")
            or function.has_nonzero_attr("Extern")
        )

    def keeps_signature(self, before: Function, after: Function) -> bool:
        """Return whether annotated types are equal; most often they are one object."""
        if (
            before.params == after.params  # identity: nodes have no other equality
            and before.ret_type is after.ret_type
            and before.type_params == after.type_params
        ):
            return True
        return super().keeps_signature(before, after)

    def restoring_pass(self) -> Pass:
        """Return InferType, which restores the types of rewritten functions."""
        # An import at the top would load it in each worker, needed or not.
        from parpass.relay.transform.infer_type import InferType

        return InferType()

    def is_restored(self, function: Function) -> bool:
        """Return whether the function has a type."""
        return function.checked_type_ is not None

    def faults(self, function: Function, mod: IRModule) -> list[str]:
        """Return the violations of Relay's rules on variables, globals and types."""
        from parpass.relay.analysis import function_faults  # for checks only

        return function_faults(function, mod)

    def reduction_rules(self) -> ReductionRules:
        """Return the rules by which programs of Relay are reduced."""
        # For reductions alone.
        from parpass.relay.relay_reduction_rules import RelayReductionRules

        return RelayReductionRules()


register_dialect("relay", RelayDialect())
declare_functions("parpass.relay.transform.all_passes")
declare_functions("parpass.relay.backend.lowering.lower_to_tir")


class RelayPrograms(ProgramFormat):
    """Program format of Relay's text."""

    ir_name = "relay"
    suffixes = (".relay",)

    def parse(self, text: str, source_name: str) -> IRModule:
        """Parse a text as a module."""
        from parpass.relay.text.parser import parse  # workers read no text

        return parse(text, source_name)

    def astext(self, mod: IRModule, *, show_meta_data: bool = True) -> str:
        """Return a module as text, the values of constants at its end.

        Types that are inferred again on reading are not written.
        """
        return mod.text(show_meta_data=show_meta_data, annotate=lambda _: "")

    def reduction_patterns(self) -> Sequence[ReductionPattern]:
        """Return the reduction patterns on the functions of all IRs."""
        from parpass.ir import reduction_patterns  # for reductions alone

        return reduction_patterns.reduction_patterns()

    def module_size(self, mod: IRModule) -> tuple[int, ...]:
        """Return the numbers of functions, of nodes by kind, and of attributes."""
        from parpass.ir import reduction_patterns  # for reductions alone

        return reduction_patterns.module_size(mod)


class LoopPrograms(RelayPrograms):
    """Program format of loop programs, which share Relay's text."""

    ir_name = "tir"
    suffixes = (".tir",)


register_programs(RelayPrograms())
register_programs(LoopPrograms())


def _wrapped(expr: Expr) -> tuple[IRModule, Callable[[IRModule], Expr]]:
    mod = IRModule.from_expr(expr)
    [name] = mod.functions_by_name

    def unwrapped(result: IRModule) -> Expr:
        function = result[name]
        return function if isinstance(expr, Function) else function.body

    return mod, unwrapped


register_wrapping(Expr, _wrapped)


def _register() -> None:
    for key, kind, doc in (
        (
            "relay.fallback_device_type",
            int,
            "device for expressions without an annotation",
        ),
        ("relay.backend.use_auto_scheduler", bool, "look up auto-scheduled kernels"),
        ("relay.backend.use_meta_schedule", bool, "look up meta-scheduled kernels"),
        (
            "relay.FoldConstant.max_bytes",
            int,
            "most bytes of folded constants for each function",
        ),
        (
            "relay.FuseOps.max_depth",
            int,
            "maximum number of operators in a fused function",
        ),
        ("relay.FuseOps.link_params", bool, "put constants into fused functions"),
        (
            "relay.OutlineSegments.min_nodes",
            int,
            "size from which a function is cut, in nodes",
        ),
        (
            "relay.max_copied_nodes",
            int,
            "most nodes that passes put in the place of calls",
        ),
    ):
        register_config_option(key, kind, doc)


_register()
