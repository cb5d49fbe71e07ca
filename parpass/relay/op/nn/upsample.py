"""Upsampling of images and volumes by factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.image.resize import ResizeAttrs, resized
from parpass.relay.op.layout import layout_of, relaid_shape
from parpass.relay.op.relations import Shape, require_number, tensors

Array = npt.NDArray[Any]

_METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


class UpSamplingAttrs(Attrs, frozen=True):
    """Attributes of `nn.upsampling`."""

    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCHW"
    method: str = "nearest_neighbor"
    align_corners: bool = False


class UpSampling3DAttrs(Attrs, frozen=True):
    """Attributes of `nn.upsampling3d`."""

    scale_d: float = 1.0
    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCDHW"
    method: str = "nearest_neighbor"
    coordinate_transformation_mode: str = "half_pixel"


def _scales(attrs: UpSamplingAttrs | UpSampling3DAttrs) -> tuple[float, ...]:
    if isinstance(attrs, UpSampling3DAttrs):
        return attrs.scale_d, attrs.scale_h, attrs.scale_w
    return attrs.scale_h, attrs.scale_w


def _upsampled(shape: Shape, attrs: Any) -> Shape:
    scales = _scales(attrs)
    canonical = "NCHW" if len(scales) == 2 else "NCDHW"
    batch, channels, *image = relaid_shape(shape, attrs.layout, canonical)
    lengths = (
        dim if isinstance(dim, UnknownDim) else round(dim * scale)
        for dim, scale in zip(image, scales, strict=True)
    )
    return relaid_shape((batch, channels, *lengths), canonical, attrs.layout)


def _relation(types: Sequence[Type], attrs: Any) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    return TensorType(_upsampled(data.shape, attrs), data.dtype)


def _upsample(attrs: Any, data: Array) -> Array:
    canonical = "NCHW" if len(_scales(attrs)) == 2 else "NCDHW"
    shape = _upsampled(data.shape, attrs)
    size = relaid_shape(shape, attrs.layout, canonical)[2:]
    if isinstance(attrs, UpSampling3DAttrs):
        rule = attrs.coordinate_transformation_mode
    else:
        rule = "align_corners" if attrs.align_corners else "asymmetric"
    how = ResizeAttrs(
        size=tuple(dim for dim in size if isinstance(dim, int)),
        layout=attrs.layout,
        method=_METHODS[attrs.method],
        coordinate_transformation_mode=rule,
    )
    return resized(how, data)


_UPSAMPLING = register_op(
    Op(
        "nn.upsampling",
        1,
        _relation,
        _upsample,
        UpSamplingAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)
_UPSAMPLING3D = register_op(
    Op(
        "nn.upsampling3d",
        1,
        _relation,
        _upsample,
        UpSampling3DAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def upsampling(
    data: Expr,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Resize images by factors; `round(length * scale)` long."""
    methods = ("nearest_neighbor", "bilinear", "bicubic")
    attrs = UpSamplingAttrs(
        scale_h=scale_h,
        scale_w=scale_w,
        layout=layout_of(layout, "NCHW", "layout"),
        method=require_choice(method, methods, "method"),
        align_corners=align_corners,
    )
    return call_op(_UPSAMPLING, (data,), attrs)


def upsampling3d(
    data: Expr,
    scale_d: float = 1,
    scale_h: float = 1,
    scale_w: float = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Resize volumes by factors; `round(length * scale)` long."""
    rules = ("half_pixel", "align_corners", "asymmetric")
    attrs = UpSampling3DAttrs(
        scale_d=scale_d,
        scale_h=scale_h,
        scale_w=scale_w,
        layout=layout_of(layout, "NCDHW", "layout"),
        method=require_choice(method, ("nearest_neighbor", "trilinear"), "method"),
        coordinate_transformation_mode=require_choice(
            coordinate_transformation_mode, rules, "coordinate_transformation_mode"
        ),
    )
    return call_op(_UPSAMPLING3D, (data,), attrs)
