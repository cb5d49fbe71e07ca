"""Dynamic resizing of images: the size or the factors are arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from parpass.ir.attrs import Attrs
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import NCDHW, NCHW, MaybeDType
from parpass.relay.op.declaration.type_relations import (
    require_number,
    require_rank,
    require_shape,
    tensors,
)
from parpass.relay.op.dyn.counterpart import UNKNOWN, dynamic, length
from parpass.relay.op.image.resize import (
    CoordinateRule,
    ResizeMethod,
    RoundingMethod,
    resize2d,
    resized_type,
    roi_of_rank,
)
from parpass.relay.op.nn.upsample import (
    Method,
    Method3D,
    Rule3D,
    upsampling,
    upsampling3d,
)


class DynResize2DAttrs(Attrs, frozen=True):
    """Attributes of `dyn.image.resize2d`; see `image.resize2d`."""

    layout: NCHW = "NCHW"
    method: ResizeMethod = "linear"
    coordinate_transformation_mode: CoordinateRule = "half_pixel"
    rounding_method: RoundingMethod = ""
    bicubic_alpha: float = -0.5
    bicubic_exclude: bool = False
    out_dtype: MaybeDType = ""
    roi: Annotated[tuple[float, ...], roi_of_rank(2)] | None = None
    extrapolation_value: float = 0.0


def _resize_relation(types: Sequence[Type], attrs: DynResize2DAttrs) -> TensorType:
    data, size = tensors(types)
    length(size, "the size")
    require_shape(size, (2,), "the size")
    return resized_type(data, attrs.layout, (UNKNOWN,) * 2, attrs.out_dtype)


@dynamic("dyn.image.resize2d", resize2d, _resize_relation, DynResize2DAttrs)
def dyn_resize2d(
    data: Expr,
    size: Expr,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: bool = False,
    out_dtype: str = "",
    roi: Iterable[float] | None = None,
    extrapolation_value: float = 0.0,
) -> Call:
    """Resize images to a height and a width."""
    ...


class DynUpSamplingAttrs(Attrs, frozen=True):
    """Attributes of `dyn.nn.upsampling`."""

    layout: NCHW = "NCHW"
    method: Method = "nearest_neighbor"
    align_corners: bool = False


class DynUpSampling3DAttrs(Attrs, frozen=True):
    """Attributes of `dyn.nn.upsampling3d`."""

    layout: NCDHW = "NCDHW"
    method: Method3D = "nearest_neighbor"
    coordinate_transformation_mode: Rule3D = "half_pixel"


def _upsampling_relation(types: Sequence[Type], attrs: Any) -> TensorType:
    data, *scales = tensors(types)
    for scale in scales:
        require_number(scale)
        require_rank(scale, 0, "a scale")
    return resized_type(data, attrs.layout, (UNKNOWN,) * len(scales))


@dynamic("dyn.nn.upsampling", upsampling, _upsampling_relation, DynUpSamplingAttrs)
def dyn_upsampling(
    data: Expr,
    scale_h: Expr,
    scale_w: Expr,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Resize images by factors."""
    ...


@dynamic(
    "dyn.nn.upsampling3d", upsampling3d, _upsampling_relation, DynUpSampling3DAttrs
)
def dyn_upsampling3d(
    data: Expr,
    scale_d: Expr,
    scale_h: Expr,
    scale_w: Expr,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Resize volumes by factors."""
    ...
