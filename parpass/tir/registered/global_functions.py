"""Functions of the registry that TVM's programs look up by name, beside the passes."""

from __future__ import annotations

from parpass.diagnostic import Span
from parpass.runtime.registry import register_func
from parpass.tir.data_type import data_type
from parpass.tir.expr import const_true
from parpass.tir.prim_expr import PrimExpr


@register_func("tir.const_true")
def const_true_of(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the predicate of an access of this dtype that is always done."""
    return const_true(data_type(dtype).lanes, span)
