"""Pooling to a given size: the windows are what the size asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationFn
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import (
    NCHW,
    Ints,
    MaybeNCHW,
    as_said,
    in_layout,
    of_rank,
)
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, operator
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.declaration.relations import require_float, tensors
from parpass.relay.op.nn.windows import pooled, pooled_type

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d", "global_max_pool1d",
    "global_max_pool2d", "global_max_pool3d",
]  # fmt: skip

Meaning = Callable[..., Any]


class GlobalPool2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.global_max_pool2d` and `nn.global_avg_pool2d`."""

    layout: NCHW = "NCHW"
    out_layout: MaybeNCHW = ""


class AdaptivePoolAttrs(Attrs, frozen=True):
    """Attributes of adaptive poolings.

    Attributes:
        output_size: The lengths of the result; None for the data's.
    """

    output_size: tuple[int, ...] | None = None
    layout: str = ""
    out_layout: str = ""


class GlobalPoolBuilder(Protocol):
    """Builds a call of a pooling whose result has length 1 along each axis."""

    def __call__(self, data: Expr, layout: str = ..., out_layout: str = "") -> Call:
        """Return the call."""
        ...


class AdaptivePoolBuilder(Protocol):
    """Builds a call of an adaptive pooling."""

    def __call__(
        self,
        data: Expr,
        output_size: Ints | None = None,
        layout: str = ...,
        out_layout: str = "",
    ) -> Call:
        """Return the call."""
        ...


def _relation(rank: int) -> TypeRelationFn:
    def relation(types: Sequence[Type], attrs: Any) -> TensorType:
        (data,) = tensors(types)
        require_float(data)
        size = attrs.get("output_size", (1,) * rank)
        return pooled_type(attrs, data, rank, lambda image: size or image)

    return relation


def _compute(rank: int, meaning: Meaning) -> Callable[[Any, Array], Array]:
    def compute(attrs: Any, data: Array) -> Array:
        size = attrs.get("output_size", (1,) * rank)

        def pool(data: Array) -> Array:
            # A window is a box, so that one axis can be pooled after the other.
            for axis, count in enumerate(size or data.shape[2:], 2):
                data = _pooled_axis(meaning, data, axis, count)
            return data

        return pooled(attrs, data, rank, pool)

    return compute


def _pooled_axis(meaning: Meaning, data: Array, axis: int, count: int) -> Array:
    length = data.shape[axis]
    parts = [
        meaning(
            data.take(
                range(at * length // count, -(-(at + 1) * length // count)), axis
            ),
            axis=axis,
            keepdims=True,
        )
        for at in range(count)
    ]
    return np.concatenate(parts, axis)


def _global(name: str, meaning: Meaning, doc: str) -> GlobalPoolBuilder:
    """Register a global pooling of images and return the builder of its calls."""
    compute = _compute(2, meaning)

    @operator(
        f"nn.{name}",
        _relation(2),
        compute,
        GlobalPool2DAttrs,
        doc=doc,
        pattern=OUT_ELEMWISE_FUSABLE,
    )
    def build(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call: ...

    return build


def _adaptive(name: str, rank: int, meaning: Meaning, doc: str) -> AdaptivePoolBuilder:
    """Register an adaptive pooling and return the builder of its calls."""
    axes = f"NC{SPATIAL[rank]}"

    @operator(
        f"nn.{name}",
        _relation(rank),
        _compute(rank, meaning),
        AdaptivePoolAttrs,
        doc=doc,
        forms={
            "output_size": of_rank(rank),
            "layout": in_layout(axes),
            "out_layout": as_said(in_layout(axes)),
        },
        pattern=OUT_ELEMWISE_FUSABLE,
    )
    def build(
        data: Expr,
        output_size: Ints | None = None,
        layout: str = axes,
        out_layout: str = "",
    ) -> Call: ...

    return build


def _whole(name: str, adaptive: AdaptivePoolBuilder, axes: str) -> GlobalPoolBuilder:
    """Return the builder of an adaptive pooling to length 1."""

    def build(data: Expr, layout: str = axes, out_layout: str = "") -> Call:
        return adaptive(data, 1, layout, out_layout)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = "Pool each channel as a whole."
    return build


_MAX = "Return the largest element of each window; there are `output_size` of them."
_AVG = "Return the mean of each window; there are `output_size` of them."

adaptive_max_pool1d = _adaptive("adaptive_max_pool1d", 1, np.max, _MAX)
adaptive_max_pool2d = _adaptive("adaptive_max_pool2d", 2, np.max, _MAX)
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d", 3, np.max, _MAX)
adaptive_avg_pool1d = _adaptive("adaptive_avg_pool1d", 1, np.mean, _AVG)
adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2, np.mean, _AVG)
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3, np.mean, _AVG)

global_max_pool1d = _whole("global_max_pool1d", adaptive_max_pool1d, "NCW")
global_avg_pool1d = _whole("global_avg_pool1d", adaptive_avg_pool1d, "NCW")
global_max_pool3d = _whole("global_max_pool3d", adaptive_max_pool3d, "NCDHW")
global_avg_pool3d = _whole("global_avg_pool3d", adaptive_avg_pool3d, "NCDHW")
global_max_pool2d = _global(
    "global_max_pool2d", np.max, "Return the largest element of each channel."
)
global_avg_pool2d = _global(
    "global_avg_pool2d", np.mean, "Return the mean of each channel."
)
