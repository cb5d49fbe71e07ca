"""Cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import MaybeDType
from parpass.relay.op.declaration.build import BuilderT, operator
from parpass.relay.op.declaration.type_relations import normal_axis, product, tensors
from parpass.runtime.dtypes import computed_in, converted, numpy_dtype

__all__ = ["cumprod", "cumsum"]


def _flag(value: bool | None, _what: str) -> bool:
    return False if value is None else value


class ScanopAttrs(Attrs, frozen=True):
    """Attributes of `cumsum` and `cumprod`.

    Attributes:
        axis: The axis; None for the flattened tensor.
        dtype: Empty for the data's, int32 for bools.
        exclusive: Whether an element itself does not count.
    """

    axis: int | None = None
    dtype: MaybeDType = ""
    exclusive: Annotated[bool, _flag] = False


def _along(
    data: Expr,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Call:
    """Build a call of a scan."""
    ...


def _dtype(attrs: ScanopAttrs, dtype: str) -> str:
    return attrs.dtype or ("int32" if dtype == "bool" else dtype)


def _relation(types: Sequence[Type], attrs: ScanopAttrs) -> TensorType:
    (data,) = tensors(types)
    dtype = _dtype(attrs, data.dtype)
    if attrs.axis is None:
        return TensorType((product(data.shape),), dtype)
    normal_axis(attrs.axis, len(data.shape))
    return TensorType(data.shape, dtype)


def _scan(
    name: str, meaning: Callable[..., Any], first: int, doc: str
) -> Callable[[BuilderT], BuilderT]:
    """Register a scan; `first` is the first element of an exclusive one."""

    def compute(attrs: ScanopAttrs, data: Array) -> Array:
        dtype = _dtype(attrs, data.dtype.name)
        axis = 0 if attrs.axis is None else attrs.axis
        data = data.reshape(-1) if attrs.axis is None else data
        if attrs.exclusive and data.shape[axis]:
            before = np.full_like(data.take([0], axis), first)
            rest = data.take(range(data.shape[axis] - 1), axis)
            data = np.concatenate([before, rest], axis)
        data = converted(data, numpy_dtype(computed_in(dtype)))
        found = meaning(data, axis=axis, dtype=data.dtype)
        return found.astype(numpy_dtype(dtype), copy=False)

    return operator(name, _relation, compute, ScanopAttrs, doc=doc)


cumsum = _scan("cumsum", np.cumsum, 0, "Return the sums of the elements so far.")(
    _along
)
cumprod = _scan(
    "cumprod", np.cumprod, 1, "Return the products of the elements so far."
)(_along)
