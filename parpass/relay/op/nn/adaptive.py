"""Pooling to a given size: the windows are what the size asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelation, register_op
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import Ints, ints_of_rank
from parpass.relay.op.build import call_op
from parpass.relay.op.layout import SPATIAL, layout_of, relaid, relaid_shape
from parpass.relay.op.relations import require_float, tensors

Array = npt.NDArray[Any]
Meaning = Callable[..., Any]


class GlobalPool2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.global_max_pool2d` and `nn.global_avg_pool2d`."""

    layout: str = "NCHW"
    out_layout: str = ""


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


def _relation(rank: int) -> TypeRelation:
    canonical = f"NC{SPATIAL[rank]}"

    def relation(types: Sequence[Type], attrs: Any) -> TensorType:
        (data,) = tensors(types)
        require_float(data)
        shape = relaid_shape(data.shape, attrs.layout, canonical)
        size = attrs.get("output_size", (1,) * rank) or shape[2:]
        layout = attrs.out_layout or attrs.layout
        shape = relaid_shape((*shape[:2], *size), canonical, layout)
        return TensorType(shape, data.dtype)

    return relation


def _compute(rank: int, meaning: Meaning) -> Callable[[Any, Array], Array]:
    canonical = f"NC{SPATIAL[rank]}"

    def compute(attrs: Any, data: Array) -> Array:
        result = relaid(data, attrs.layout, canonical)
        size = attrs.get("output_size", (1,) * rank) or result.shape[2:]
        # A window is a box, so that one axis can be pooled after the other.
        for axis, count in enumerate(size, 2):
            result = _pooled_axis(meaning, result, axis, count)
        return relaid(result, canonical, attrs.out_layout or attrs.layout)

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
    heavy, compute = OpPattern.OUT_ELEMWISE_FUSABLE, _compute(2, meaning)
    op = register_op(
        Op(f"nn.{name}", 1, _relation(2), compute, GlobalPool2DAttrs, pattern=heavy)
    )

    def build(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
        attrs = GlobalPool2DAttrs(
            layout=layout_of(layout, "NCHW", "layout"),
            out_layout=out_layout and layout_of(out_layout, "NCHW", "out_layout"),
        )
        return call_op(op, (data,), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _adaptive(name: str, rank: int, meaning: Meaning, doc: str) -> AdaptivePoolBuilder:
    """Register an adaptive pooling and return the builder of its calls."""
    heavy, compute = OpPattern.OUT_ELEMWISE_FUSABLE, _compute(rank, meaning)
    axes = f"NC{SPATIAL[rank]}"
    op = register_op(
        Op(f"nn.{name}", 1, _relation(rank), compute, AdaptivePoolAttrs, pattern=heavy)
    )

    def build(
        data: Expr,
        output_size: Ints | None = None,
        layout: str = axes,
        out_layout: str = "",
    ) -> Call:
        attrs = AdaptivePoolAttrs(
            output_size=(
                None
                if output_size is None
                else ints_of_rank(output_size, rank, "output_size")
            ),
            layout=layout_of(layout, axes, "layout"),
            out_layout=out_layout and layout_of(out_layout, axes, "out_layout"),
        )
        return call_op(op, (data,), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
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
