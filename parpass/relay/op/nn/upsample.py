"""Upsampling of images and volumes by factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import NCDHW, NCHW, OneOf
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.layout import transformed_shape
from parpass.relay.op.declaration.type_relations import Shape, require_number, tensors
from parpass.relay.op.image.resize import ResizeAttrs, resized

__all__ = ["upsampling", "upsampling3d"]


_METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


Method = Annotated[str, OneOf("nearest_neighbor", "bilinear", "bicubic")]
Method3D = Annotated[str, OneOf("nearest_neighbor", "trilinear")]
Rule3D = Annotated[str, OneOf("half_pixel", "align_corners", "asymmetric")]


class UpSamplingAttrs(Attrs, frozen=True):
    """Attributes of `nn.upsampling`."""

    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: NCHW = "NCHW"
    method: Method = "nearest_neighbor"
    align_corners: bool = False


class UpSampling3DAttrs(Attrs, frozen=True):
    """Attributes of `nn.upsampling3d`."""

    scale_d: float = 1.0
    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: NCDHW = "NCDHW"
    method: Method3D = "nearest_neighbor"
    coordinate_transformation_mode: Rule3D = "half_pixel"


def _scales(attrs: UpSamplingAttrs | UpSampling3DAttrs) -> tuple[float, ...]:
    if isinstance(attrs, UpSampling3DAttrs):
        return attrs.scale_d, attrs.scale_h, attrs.scale_w
    return attrs.scale_h, attrs.scale_w


def _upsampled(shape: Shape, attrs: Any) -> Shape:
    scales = _scales(attrs)
    canonical = "NCHW" if len(scales) == 2 else "NCDHW"
    batch, channels, *image = transformed_shape(shape, attrs.layout, canonical)
    lengths = (
        dim if isinstance(dim, UnknownDim) else round(dim * scale)
        for dim, scale in zip(image, scales, strict=True)
    )
    return transformed_shape((batch, channels, *lengths), canonical, attrs.layout)


def _relation(types: Sequence[Type], attrs: Any) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    return TensorType(_upsampled(data.shape, attrs), data.dtype)


def as_resize(attrs: UpSamplingAttrs | UpSampling3DAttrs, shape: Shape) -> ResizeAttrs:
    """Return the attributes of the equivalent resizing of data of a shape."""
    canonical = "NCHW" if len(_scales(attrs)) == 2 else "NCDHW"
    size = transformed_shape(_upsampled(shape, attrs), attrs.layout, canonical)[2:]
    if isinstance(attrs, UpSampling3DAttrs):
        rule = attrs.coordinate_transformation_mode
    else:
        rule = "align_corners" if attrs.align_corners else "asymmetric"
    return ResizeAttrs(
        size=tuple(dim for dim in size if isinstance(dim, int)),
        layout=attrs.layout,
        method=_METHODS[attrs.method],
        coordinate_transformation_mode=rule,
    )


def _upsample(attrs: Any, data: Array) -> Array:
    return resized(as_resize(attrs, data.shape), data)


@operator("nn.upsampling", _relation, _upsample, UpSamplingAttrs, pattern=INJECTIVE)
def upsampling(
    data: Expr,
    scale_h: float | Expr = 1,
    scale_w: float | Expr = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Resize images by factors; `round(length * scale)` long."""
    ...


@operator("nn.upsampling3d", _relation, _upsample, UpSampling3DAttrs, pattern=INJECTIVE)
def upsampling3d(
    data: Expr,
    scale_d: float | Expr = 1,
    scale_h: float | Expr = 1,
    scale_w: float | Expr = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Resize volumes by factors; `round(length * scale)` long."""
    ...
