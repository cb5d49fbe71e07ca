"""Values of flat memory, and what an access to it must be."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Role, reflected
from parpass.ir.types.prim_ty import PointerType, PrimType
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr.variable import Var, check_var
from parpass.tir.expr.vector import const_true
from parpass.tir.prim_expr import EXPR_KINDS, Operand, PrimExpr, as_prim_expr


@reflected(
    is_graph=False, buffer_var=Role.CHILD, index=Role.CHILD, predicate=Role.CHILD
)
class Load(PrimExpr, frozen=True, eq=False):
    """A value of memory: what a pointer has at an index, where the predicate holds."""

    dtype: str
    buffer_var: Var
    index: Operand
    predicate: Operand = cast("Any", None)
    span: Span | None = None

    def __post_init__(self) -> None:
        dtype = checked(self.dtype)
        if self.dtype != dtype:
            force_setattr(self, "dtype", dtype)
        check_access(self, dtype)


def check_access(node: Any, dtype: str) -> None:
    """Check what memory is accessed, where and whether; give it a predicate.

    The index becomes an expression, if it is none.

    Raises:
        IRTypeError: The pointer is no variable, or the lanes do not go together.
    """
    index, given = node.index, node.predicate
    if type(index) not in EXPR_KINDS:
        index = as_prim_expr(index)
        force_setattr(node, "index", index)
    if type(node.buffer_var) is not Var:
        check_var(node, node.buffer_var)
    if type(given) not in EXPR_KINDS:
        lanes = data_type(dtype).lanes
        given = const_true(lanes) if given is None else as_prim_expr(given)
        force_setattr(node, "predicate", given)
    # Only names of vectors have an x, and most accesses are of scalars.
    if "x" in dtype or "x" in index.dtype or "x" in given.dtype:
        _check_lanes(node, dtype)


def _check_lanes(node: Any, dtype: str) -> None:
    lanes, predicate = data_type(dtype).lanes, node.predicate
    pointer = node.buffer_var.type_annotation
    element = 1
    if isinstance(pointer, PointerType) and isinstance(pointer.element_type, PrimType):
        element = data_type(pointer.element_type.dtype).lanes
    of_index = data_type(node.index.dtype).lanes
    of_predicate = data_type(predicate.dtype).lanes
    if lanes not in (of_index, element * of_index) or (
        lanes not in (of_index, element * of_predicate)
    ):
        raise IRTypeError(
            f"expected an index and a predicate with the lanes of {dtype} for "
            f"{type(node).__name__}, got {node.index.dtype} and {predicate.dtype}"
        )
