"""Resizing of signals, images and volumes: one interpolation for each axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, register_op
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import (
    Ints,
    ints_of_rank,
    optional_dtype,
    require_choice,
)
from parpass.relay.op.build import call_op
from parpass.relay.op.image import interpolation
from parpass.relay.op.layout import SPATIAL, layout_of, relaid, relaid_shape
from parpass.relay.op.relations import require_number, tensors

Array = npt.NDArray[Any]

_METHODS = ("nearest_neighbor", "linear", "cubic")
_NEAREST = {  # what rounding a rule of coordinates asks for, if nothing is said
    "half_pixel": "round",
    "align_corners": "round",
    "pytorch_half_pixel": "round",
    "asymmetric": "floor",
    "tf_half_pixel_for_nn": "floor",
    "tf_crop_and_resize": "round",
}


class ResizeAttrs(Attrs, frozen=True):
    """Attributes of `image.resize1d`, `image.resize2d` and `image.resize3d`.

    Attributes:
        size: The new length of each axis.
        roi: What part to resize, from 0 to 1: the begins, then the ends; for the rule
            `tf_crop_and_resize` alone.
        rounding_method: How `nearest_neighbor` rounds; empty for what suits the rule.
        bicubic_exclude: Whether `cubic` leaves out what is outside; otherwise the
            element at the edge stands for it.
        extrapolation_value: What is outside of the image, for `tf_crop_and_resize`.
        out_dtype: Empty for the data's dtype.
    """

    size: tuple[int, ...]
    roi: tuple[float, ...] | None = None
    layout: str = "NCHW"
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = ""
    bicubic_alpha: float = -0.5
    bicubic_exclude: bool = False
    extrapolation_value: float = 0.0
    out_dtype: str = ""


class ResizeBuilder(Protocol):
    """Builds a call of a resizing."""

    def __call__(
        self,
        data: Expr,
        size: Ints,
        roi: Iterable[float] | None = None,
        layout: str = ...,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: bool = False,
        extrapolation_value: float = 0.0,
        out_dtype: str = "",
    ) -> Call:
        """Return the call."""
        ...


def _relation(types: Sequence[Type], attrs: ResizeAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    canonical = f"NC{SPATIAL[len(attrs.size)]}"
    batch, channels, *_ = relaid_shape(data.shape, attrs.layout, canonical)
    shape = relaid_shape((batch, channels, *attrs.size), canonical, attrs.layout)
    return TensorType(shape, attrs.out_dtype or data.dtype)


def resized(attrs: ResizeAttrs, data: Array) -> Array:
    """Return images of another size."""
    canonical = f"NC{SPATIAL[len(attrs.size)]}"
    dtype = attrs.out_dtype or data.dtype
    result = relaid(data, attrs.layout, canonical)
    rank = len(attrs.size)
    roi = attrs.roi or (0.0,) * rank + (1.0,) * rank
    outside = np.zeros(attrs.size, bool)
    for at, new in enumerate(attrs.size):
        axis = interpolation.Axis(result.shape[at + 2], new, roi[at], roi[at + rank])
        place = interpolation.places(axis, attrs.coordinate_transformation_mode)
        result = _resized_axis(attrs, result, at + 2, axis, place)
        beyond = (place < 0) | (place > axis.old - 1)
        outside |= beyond.reshape(-1, *(1,) * (rank - 1 - at))
    if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        result = np.where(outside, _as_in(result, attrs.extrapolation_value), result)
    if np.dtype(dtype).kind in "iu" and attrs.method != "nearest_neighbor":
        result = np.rint(result)
    return relaid(result.astype(dtype), canonical, attrs.layout)


def _resized_axis(
    attrs: ResizeAttrs, data: Array, at: int, axis: interpolation.Axis, place: Array
) -> Array:
    if attrs.method == "nearest_neighbor":
        default = _NEAREST[attrs.coordinate_transformation_mode]
        rounding = attrs.rounding_method or default
        return data.take(interpolation.nearest(axis, place, rounding), at)
    if attrs.method == "linear":
        return interpolation.weighted(data, at, interpolation.linear(axis, place))
    alpha, exclude = attrs.bicubic_alpha, attrs.bicubic_exclude
    terms = interpolation.cubic(axis, place, alpha, exclude=exclude)
    return interpolation.weighted(data, at, terms)


def _as_in(data: Array, value: float) -> Array:
    return np.asarray(value).astype(data.dtype)


def _resize(name: str, rank: int, doc: str) -> ResizeBuilder:
    """Register a resizing and return the builder of its calls."""
    axes = f"NC{SPATIAL[rank]}"
    op = register_op(
        Op(
            f"image.{name}",
            1,
            _relation,
            resized,
            ResizeAttrs,
            pattern=OpPattern.INJECTIVE,
        )
    )

    def build(
        data: Expr,
        size: Ints,
        roi: Iterable[float] | None = None,
        layout: str = axes,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: bool = False,
        extrapolation_value: float = 0.0,
        out_dtype: str = "",
    ) -> Call:
        rule = coordinate_transformation_mode
        rules, roundings = (
            tuple(interpolation.COORDINATES),
            tuple(interpolation.ROUNDING),
        )
        attrs = ResizeAttrs(
            size=ints_of_rank(size, rank, "size"),
            roi=_roi(roi, rank),
            layout=layout_of(layout, axes, "layout"),
            method=require_choice(method, _METHODS, "method"),
            coordinate_transformation_mode=require_choice(
                rule, rules, "coordinate_transformation_mode"
            ),
            rounding_method=require_choice(
                rounding_method, ("", *roundings), "rounding_method"
            ),
            bicubic_alpha=bicubic_alpha,
            bicubic_exclude=bicubic_exclude,
            extrapolation_value=extrapolation_value,
            out_dtype=optional_dtype(out_dtype),
        )
        return call_op(op, (data,), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _roi(roi: Iterable[float] | None, rank: int) -> tuple[float, ...] | None:
    if roi is None:
        return None
    found = tuple(float(one) for one in roi)
    if len(found) not in (0, 2 * rank):
        raise IRTypeError(f"expected {2 * rank} numbers for roi, got {found}")
    return found or None


resize1d = _resize("resize1d", 1, "Resize signals.")
resize2d = _resize("resize2d", 2, "Resize images.")
resize3d = _resize("resize3d", 3, "Resize volumes.")
