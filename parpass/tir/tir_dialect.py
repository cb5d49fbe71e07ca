"""The dialect of loop programs: Python's syntax, text, registered functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.diagnostic import Span
from parpass.function_registry import declare_functions, register_func
from parpass.ir.dialect import Annotate, Dialect, FunctionPrinter, register_dialect
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.reduction_rules import ReductionRules
from parpass.tir import op, pointer
from parpass.tir.analysis.definitions import function_faults
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    as_prim_expr,
    const_true,
)
from parpass.tir.function import PrimFunc


@register_func("tir.const_true")
def const_true_of(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the predicate of an access of this dtype that is always done."""
    return const_true(data_type(dtype).lanes, span)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "access_ptr": pointer.access_ptr,
    "add": op.add,
    "bitwise_and": op.bitwise_and,
    "bitwise_not": op.bitwise_not,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "cast": op.cast_to,
    "const": op.const,
    "equal": op.equal,
    "floordiv": op.floordiv,
    "floormod": op.floormod,
    "greater": op.greater,
    "greater_equal": op.greater_equal,
    "left_shift": op.left_shift,
    "less": op.less,
    "less_equal": op.less_equal,
    "mul": op.multiply,
    "neg": op.neg,
    "not_equal": op.not_equal,
    "right_shift": op.right_shift,
    "sub": op.subtract,
    "truediv": op.divide,
    "vload": pointer.vload,
    "vstore": pointer.vstore,
}

_INT64 = range(-(2**63), 2**63)


class TIRDialect(Dialect):
    """Loop programs, in the namespace `tir`."""

    function_kind = "tir"

    def text(
        self,
        node: Node,
        *,
        show_meta_data: bool = False,
        annotate: Annotate | None = None,
    ) -> str:
        """Return a node in the text format of loop programs, which has no remarks."""
        del show_meta_data, annotate
        # Workers print nothing.
        from parpass.tir.text.function_printer import loop_text

        return loop_text(node).rstrip("\n")

    def printer(self, annotate: Annotate | None = None) -> FunctionPrinter:
        """Return what writes functions in the text format of loop programs."""
        del annotate
        # Workers print nothing.
        from parpass.tir.text.function_printer import LoopPrinter

        return LoopPrinter()

    def keeps_signature(self, before: PrimFunc, after: PrimFunc) -> bool:
        """Return whether types are equal; most often what tells them is the same."""
        if (
            before.params is after.params
            and before.ret_type is after.ret_type
            and before.buffer_map is after.buffer_map
            and before.attrs is after.attrs
        ):
            return True
        return super().keeps_signature(before, after)

    def brief(self, node: Node) -> str:
        """Return a variable's or a buffer's name, or a constant."""
        if isinstance(node, IntImm | FloatImm | StringImm):
            return repr(node.value)
        if isinstance(node, Var):
            return f"{node.name}: {node.dtype}"
        return str(getattr(node, "name", ""))

    def operator(self, name: str, *operands: Any) -> Any:
        """Return the expression that one of Python's operators means."""
        return _OPERATORS[name](*operands)

    def constant(self, value: Any) -> Any:
        """Return a constant for a string, or a number that a constant can be."""
        is_one = isinstance(value, float | str) or (
            isinstance(value, int) and value in _INT64
        )
        return as_prim_expr(value) if is_one else value

    def faults(self, function: PrimFunc, mod: IRModule) -> list[str]:
        """Return where variables are used that are not defined, or defined twice."""
        del mod
        return function_faults(function)

    def reduction_rules(self) -> ReductionRules:
        """Return the rules by which loop programs are reduced."""
        # For reductions alone.
        from parpass.tir.loop_reduction_rules import LoopReductionRules

        return LoopReductionRules()


register_dialect("tir", TIRDialect())
declare_functions("parpass.tir.transform.loop_passes")
declare_functions("parpass.tir.tir_dialect")
