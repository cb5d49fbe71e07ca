"""Reductions along axes that are known only when the program runs.

TVM has none of them; they are what ONNX's reductions need since their axes are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import TypeRelationError
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.build import OPAQUE, BuilderT
from parpass.relay.op.declaration.relations import (
    require_dtype,
    require_number,
    tensors,
)
from parpass.relay.op.dyn.counterpart import UNKNOWN, dynamic, length
from parpass.relay.op.reduce import all, any, max, mean, min, prod, sum


class DynReduceAttrs(Attrs, frozen=True):
    """Attributes of reductions along axes that are an argument.

    Attributes:
        keepdims: Whether the reduced axes stay, with length 1.
    """

    keepdims: bool = False


def _along(data: Expr, axis: Expr, keepdims: bool = False) -> Call:
    """Build a call of a reduction."""
    ...


def _dynamic(
    static: Callable[..., Call], *, is_logical: bool = False
) -> Callable[[BuilderT], BuilderT]:

    def relation(types: Sequence[Type], attrs: DynReduceAttrs) -> TensorType:
        data, axes = tensors(types)
        if is_logical:
            require_dtype(data, "bool")
        else:
            require_number(data)
        rank, gone = len(data.shape), length(axes, "the axes")
        if gone > rank:
            raise TypeRelationError(f"expected up to {rank} axes, got {axes}")
        if attrs.keepdims:
            dims = tuple(1 if dim == 1 else UNKNOWN for dim in data.shape)
            return TensorType(dims if gone < rank else (1,) * rank, data.dtype)
        return TensorType((UNKNOWN,) * (rank - gone), data.dtype)

    return dynamic(
        f"dyn.{static.__name__}",
        static,
        relation,
        DynReduceAttrs,
        doc=static.__doc__ or "",
        pattern=OPAQUE,
    )


dyn_sum = _dynamic(sum)(_along)
dyn_mean = _dynamic(mean)(_along)
dyn_max = _dynamic(max)(_along)
dyn_min = _dynamic(min)(_along)
dyn_prod = _dynamic(prod)(_along)
dyn_all = _dynamic(all, is_logical=True)(_along)
dyn_any = _dynamic(any, is_logical=True)(_along)
