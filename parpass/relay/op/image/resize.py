"""Resizing of signals, images and volumes: separable interpolation along each axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Protocol

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import (
    NCDHW,
    NCHW,
    NCW,
    Converter,
    Ints,
    MaybeDType,
    One,
    OneOf,
    Pair,
    Triple,
)
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.layout import (
    SPATIAL,
    transform_layout,
    transformed_shape,
)
from parpass.relay.op.declaration.type_relations import Shape, require_number, tensors
from parpass.relay.op.image import interpolation
from parpass.runtime.dtypes import converted

# The default rounding of each rule of coordinates.
NEAREST = {
    "half_pixel": "round",
    "align_corners": "round",
    "pytorch_half_pixel": "round",
    "asymmetric": "floor",
    "tf_half_pixel_for_nn": "floor",
    "tf_crop_and_resize": "round",
}


ResizeMethod = Annotated[str, OneOf("nearest_neighbor", "linear", "cubic")]
CoordinateRule = Annotated[str, OneOf(*interpolation.COORDINATES)]
RoundingMethod = Annotated[str, OneOf("", *interpolation.ROUNDING)]


class ResizeAttrs(Attrs, frozen=True):
    """Common attributes of resizings.

    Attributes:
        size: The new length of each axis.
        roi: The region to resize, from 0 to 1: the begins, then the ends; for the rule
            `tf_crop_and_resize` alone.
        rounding_method: How `nearest_neighbor` rounds; empty for the rule's default.
        bicubic_exclude: Whether `cubic` leaves out elements outside of the image;
            otherwise the element at the edge stands for them.
        extrapolation_value: The value outside of the image, for `tf_crop_and_resize`.
        out_dtype: Empty for the data's dtype.
    """

    size: tuple[int, ...]
    roi: tuple[float, ...] | None = None
    layout: str = "NCHW"
    method: ResizeMethod = "linear"
    coordinate_transformation_mode: CoordinateRule = "half_pixel"
    rounding_method: RoundingMethod = ""
    bicubic_alpha: float = -0.5
    bicubic_exclude: bool = False
    extrapolation_value: float = 0.0
    out_dtype: MaybeDType = ""


def roi_of_rank(rank: int) -> Converter:
    """Return the converter to the begins and ends of a region, from 0 to 1."""

    def convert(roi: Iterable[float], _what: str) -> tuple[float, ...] | None:
        found = tuple(float(one) for one in roi)
        if len(found) not in (0, 2 * rank):
            raise IRTypeError(f"expected {2 * rank} numbers for roi, got {found}")
        return found or None

    return convert


class Resize1DAttrs(ResizeAttrs, frozen=True):
    """Attributes of `image.resize1d`."""

    size: One
    roi: Annotated[tuple[float, ...], roi_of_rank(1)] | None = None
    layout: NCW = "NCW"


class Resize2DAttrs(ResizeAttrs, frozen=True):
    """Attributes of `image.resize2d`."""

    size: Pair
    roi: Annotated[tuple[float, ...], roi_of_rank(2)] | None = None
    layout: NCHW = "NCHW"


class Resize3DAttrs(ResizeAttrs, frozen=True):
    """Attributes of `image.resize3d`."""

    size: Triple
    roi: Annotated[tuple[float, ...], roi_of_rank(3)] | None = None
    layout: NCDHW = "NCDHW"


class ResizeBuilder(Protocol):
    """Builds a call of a resizing."""

    def __call__(
        self,
        data: Expr,
        size: Ints | Expr,
        layout: str = ...,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: bool = False,
        out_dtype: str = "",
        roi: Iterable[float] | None = None,
        extrapolation_value: float = 0.0,
    ) -> Call:
        """Return the call."""
        ...


def _relation(types: Sequence[Type], attrs: ResizeAttrs) -> TensorType:
    (data,) = tensors(types)
    return resized_type(data, attrs.layout, attrs.size, attrs.out_dtype)


def resized_type(
    data: TensorType, layout: str, size: Shape, dtype: str = ""
) -> TensorType:
    """Return the type of images of another size; an empty dtype is that of the data."""
    require_number(data)
    canonical = f"NC{SPATIAL[len(size)]}"
    batch, channels, *_ = transformed_shape(data.shape, layout, canonical)
    shape = transformed_shape((batch, channels, *size), canonical, layout)
    return TensorType(shape, dtype or data.dtype)


def resized(attrs: ResizeAttrs, data: Array) -> Array:
    """Return images of another size."""
    canonical = f"NC{SPATIAL[len(attrs.size)]}"
    dtype = attrs.out_dtype or data.dtype
    result = transform_layout(data, attrs.layout, canonical)
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
    return transform_layout(converted(result, dtype), canonical, attrs.layout)


def _resized_axis(
    attrs: ResizeAttrs, data: Array, at: int, axis: interpolation.Axis, place: Array
) -> Array:
    if attrs.method == "nearest_neighbor":
        default = NEAREST[attrs.coordinate_transformation_mode]
        rounding = attrs.rounding_method or default
        return data.take(interpolation.nearest(axis, place, rounding), at)
    if attrs.method == "linear":
        return interpolation.weighted(data, at, interpolation.linear(axis, place))
    alpha, exclude = attrs.bicubic_alpha, attrs.bicubic_exclude
    terms = interpolation.cubic(axis, place, alpha, exclude=exclude)
    return interpolation.weighted(data, at, terms)


def _as_in(data: Array, value: float) -> Array:
    return converted(np.asarray(value), data.dtype)


def _resize(name: str, kind: type[ResizeAttrs], doc: str) -> ResizeBuilder:
    """Register a resizing and return the builder of its calls."""

    @operator(f"image.{name}", _relation, resized, kind, doc=doc, pattern=INJECTIVE)
    def build(
        data: Expr,
        size: Ints | Expr,
        layout: str = ...,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: bool = False,
        out_dtype: str = "",
        roi: Iterable[float] | None = None,
        extrapolation_value: float = 0.0,
    ) -> Call: ...

    return build


resize1d = _resize("resize1d", Resize1DAttrs, "Resize signals.")
resize2d = _resize("resize2d", Resize2DAttrs, "Resize images.")
resize3d = _resize("resize3d", Resize3DAttrs, "Resize volumes.")
