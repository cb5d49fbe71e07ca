"""One generator of well-typed calls for each operator of networks."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from hypothesis import strategies as st

from parpass.ir.types import TensorType
from parpass.relay.expr import Call, const
from parpass.relay.op import image, nn
from tests.support.relay.op.calls import floats, ints, related
from tests.support.relay.op.shapes import (
    SIDES,
    Built,
    Maker,
    axis,
    choice,
    flag,
    number,
    shape,
)


def positive(size: int) -> Any:
    return const(np.ones(size, "float32"))


def window(draw: st.DrawFn, rank: int) -> dict[str, Any]:
    """Return how a window of at most 3 slides over lengths from 7 on."""
    each = st.lists(st.integers(1, 2), min_size=rank, max_size=rank)
    pads = st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank)
    return {"strides": draw(each), "dilation": draw(each), "padding": draw(pads)}


def lengths(draw: st.DrawFn, rank: int, low: int = 7, high: int = 9) -> list[int]:
    return [number(draw, low, high) for _ in range(rank)]


def conv(name: str, rank: int) -> Maker:
    spatial = {1: "W", 2: "HW", 3: "DHW"}[rank]

    def make(draw: st.DrawFn) -> Built:
        groups, per_in, per_out = number(draw, 1, 3), number(draw, 1, 2), draw(SIDES)
        sides, kernel = lengths(draw, rank), lengths(draw, rank, 1, 3)
        last = flag(draw)
        channels, out = groups * per_in, groups * per_out
        data = (1, *sides, channels) if last else (1, channels, *sides)
        weight = (*kernel, per_in, out) if last else (out, per_in, *kernel)
        return getattr(nn, name)(
            floats(*data),
            floats(*weight),
            groups=groups,
            channels=choice(draw, None, out),
            kernel_size=choice(draw, None, kernel),
            data_layout=f"N{spatial}C" if last else f"NC{spatial}",
            kernel_layout=f"{spatial}IO" if last else f"OI{spatial}",
            out_layout=choice(draw, "", f"NC{spatial}"),
            **window(draw, rank),
        )

    return make


def blocked(draw: st.DrawFn) -> Built:
    block, size = number(draw, 1, 3), lengths(draw, 2)
    outer, out = draw(SIDES), draw(SIDES)
    return nn.contrib_conv2d_nchwc(
        floats(1, outer, *size, block),
        floats(out, outer, 3, 2, block, 2),
        data_layout=f"NCHW{block}c",
        kernel_layout=f"OIHW{block}i2o",
        out_layout=choice(draw, "NCHW2c", "NCHW"),
        **window(draw, 2),
    )


def blocked_depthwise(draw: st.DrawFn) -> Built:
    block, size, outer = number(draw, 1, 3), lengths(draw, 2), draw(SIDES)
    return nn.contrib_depthwise_conv2d_nchwc(
        floats(1, outer, *size, block),
        floats(outer, 1, 3, 3, 1, block),
        groups=outer * block,
        data_layout=f"NCHW{block}c",
        kernel_layout=f"OIHW1i{block}o",
        **window(draw, 2),
    )


def transposed(name: str, rank: int) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        groups, per_in, per_out = number(draw, 1, 2), number(draw, 1, 2), draw(SIDES)
        sides, kernel = lengths(draw, rank, 3, 4), lengths(draw, rank, 1, 3)
        how = window(draw, rank)
        how["padding"] = draw(st.integers(0, 1))
        return getattr(nn, name)(
            floats(1, groups * per_in, *sides),
            floats(groups * per_in, per_out, *kernel),
            groups=groups,
            output_padding=number(draw, 0, 1),
            **how,
        )

    return make


def pool(name: str, rank: int) -> Maker:
    spatial = {1: "W", 2: "HW", 3: "DHW"}[rank]

    def make(draw: st.DrawFn) -> Built:
        sides, size = lengths(draw, rank), lengths(draw, rank, 1, 3)
        last = flag(draw)
        more = {"count_include_pad": flag(draw)} if "avg" in name else {}
        return getattr(nn, name)(
            floats(1, *sides, 2) if last else floats(1, 2, *sides),
            size,
            layout=f"N{spatial}C" if last else f"NC{spatial}",
            ceil_mode=flag(draw),
            **window(draw, rank),
            **more,
        )

    return make


def pool_grad(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        pooled = cast("Call", pool(name, 2)(draw))
        attrs = {key: pooled.attrs[key] for key in pooled.attrs.__struct_fields__}
        shape_of_grad = cast("TensorType", related(pooled)).concrete_shape
        grad = floats(*shape_of_grad, seed=1)
        return getattr(nn, f"{name}_grad")(grad, pooled.args[0], **attrs)

    return make


def adaptive(name: str, rank: int) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        sides = lengths(draw, rank, 1, 7)
        size = choice(draw, None, 1, lengths(draw, rank, 1, 7))
        return getattr(nn, name)(floats(1, 2, *sides), size)

    return make


def whole(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        if flag(draw):
            return getattr(nn, name)(floats(1, *lengths(draw, 2), 3), layout="NHWC")
        return getattr(nn, name)(floats(2, 3, *lengths(draw, 2)))

    return make


def along(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw, 1)
        return getattr(nn, name)(floats(*dims), axis=axis(draw, len(dims)))

    return make


def affine(name: str, low: int = 1) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw, low)
        at = axis(draw, len(dims)) if low == 1 else 1
        vectors = [positive(dims[at]) for _ in range(4 if name == "batch_norm" else 2)]
        return getattr(nn, name)(floats(*dims), *vectors, axis=at)

    return make


def group_norm(draw: st.DrawFn) -> Built:
    groups, each = draw(SIDES), draw(SIDES)
    channels = groups * each
    dims = draw(SIDES), channels, *shape(draw, 1, 2)
    return nn.group_norm(floats(*dims), positive(channels), positive(channels), groups)


def prelu(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    return nn.prelu(floats(*dims), floats(dims[at]), at)


def bias_add(draw: st.DrawFn) -> Built:
    dims = shape(draw, 1)
    at = axis(draw, len(dims))
    return nn.bias_add(floats(*dims), floats(dims[at]), at)


def dense(draw: st.DrawFn) -> Built:
    dims, units = shape(draw, 1), draw(SIDES)
    given = choice(draw, None, units)
    return nn.dense(floats(*dims), floats(units, dims[-1]), given)


def matmul(draw: st.DrawFn) -> Built:
    rows, inner, units = shape(draw, 1, 3), draw(SIDES), draw(SIDES)
    a, b = flag(draw), flag(draw)
    lhs = (*rows[:-1], inner, rows[-1]) if a else (*rows, inner)
    rhs = (units, inner) if b else (inner, units)
    return nn.matmul(
        floats(*lhs),
        floats(*rhs),
        choice(draw, None, units),
        transpose_a=a,
        transpose_b=b,
    )


def batch_matmul(draw: st.DrawFn) -> Built:
    m, k, n, batch = (draw(SIDES) for _ in range(4))
    a, b = flag(draw), flag(draw)
    lhs = floats(choice(draw, 1, batch), *((k, m) if a else (m, k)))
    rhs = floats(batch, *((n, k) if b else (k, n)))
    return nn.batch_matmul(lhs, rhs, transpose_a=a, transpose_b=b)


def pad(draw: st.DrawFn) -> Built:
    dims = shape(draw)
    widths = [(number(draw, 0, 2), number(draw, 0, 2)) for _ in dims]
    if flag(draw):
        fewer = [
            (-1, one[1]) if dim > 1 else one
            for dim, one in zip(dims, widths, strict=True)
        ]
        return nn.pad(floats(*dims), choice(draw, widths, fewer), 7.0)
    return nn.pad(floats(*dims), widths, pad_mode=choice(draw, "edge", "constant"))


def mirror_pad(draw: st.DrawFn) -> Built:
    dims = [number(draw, 3, 4) for _ in range(number(draw, 1, 3))]
    widths = [(number(draw, 0, 2), number(draw, 0, 2)) for _ in dims]
    return nn.mirror_pad(floats(*dims), widths, choice(draw, "SYMMETRIC", "REFLECT"))


def sub_pixel(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        n, c, h, w, b = (number(draw, 1, 3) for _ in range(5))
        if name == "space_to_depth":
            return nn.space_to_depth(floats(n, c, h * b, w * b), b)
        mode = choice(draw, "DCR", "CRD")
        if flag(draw):
            return nn.depth_to_space(floats(n, h, w, c * b * b), b, "NHWC", mode)
        return nn.depth_to_space(floats(n, c * b * b, h, w), b, mode=mode)

    return make


def space_to_batch(draw: st.DrawFn) -> Built:
    blocks = [number(draw, 1, 3) for _ in range(number(draw, 1, 2))]
    sides = [block * number(draw, 1, 3) for block in blocks]
    pads = [(block, 0) for block in blocks]
    dims = draw(SIDES), *sides, *shape(draw, 0, 2)
    return nn.space_to_batch_nd(floats(*dims), blocks, pads, 1.0)


def batch_to_space(draw: st.DrawFn) -> Built:
    blocks = [number(draw, 1, 3) for _ in range(number(draw, 1, 2))]
    sides = [draw(SIDES) for _ in blocks]
    crops = [(number(draw, 0, 1), 0) for _ in blocks]
    dims = int(np.prod(blocks)) * draw(SIDES), *sides, *shape(draw, 0, 2)
    return nn.batch_to_space_nd(floats(*dims), blocks, crops)


def nll_loss(draw: st.DrawFn) -> Built:
    n, c, rest = draw(SIDES), draw(SIDES), shape(draw, 0, 2)
    targets = ints(n, *rest, low=0, high=c)
    kind = choice(draw, "mean", "sum", "none")
    return nn.nll_loss(floats(n, c, *rest), targets, positive(c), kind)


def cross_entropy(name: str) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw, 2, 2)
        return getattr(nn, name)(floats(*dims), floats(*dims))

    return make


def resize(name: str, rank: int) -> Maker:
    def make(draw: st.DrawFn) -> Built:
        data = floats(1, 2, *lengths(draw, rank, 1, 5))
        rule = choice(draw, "half_pixel", "align_corners", "asymmetric")
        method = choice(draw, "nearest_neighbor", "linear", "cubic")
        size = lengths(draw, rank, 1, 5)
        how = {"method": method, "coordinate_transformation_mode": rule}
        return getattr(image, name)(data, size, **how)

    return make


def upsampling(draw: st.DrawFn) -> Built:
    data = floats(1, 2, draw(SIDES), draw(SIDES))
    method = choice(draw, "nearest_neighbor", "bilinear", "bicubic")
    scales = choice(draw, 1.0, 1.5, 2.0), choice(draw, 1.0, 2.5, 3.0)
    return nn.upsampling(data, *scales, method=method, align_corners=flag(draw))


def upsampling3d(draw: st.DrawFn) -> Built:
    data = floats(1, 2, draw(SIDES), 2, draw(SIDES))
    method = choice(draw, "nearest_neighbor", "trilinear")
    return nn.upsampling3d(data, 2.0, 1.5, 1.0, method=method)


NETWORKS: dict[str, Maker] = {
    **{f"nn.conv{rank}d": conv(f"conv{rank}d", rank) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": transposed(f"conv{rank}d_transpose", rank)
       for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": pool(f"{kind}_pool{rank}d", rank)
       for rank in (1, 2, 3) for kind in ("max", "avg")},
    **{f"nn.{kind}_pool2d_grad": pool_grad(f"{kind}_pool2d")
       for kind in ("max", "avg")},
    **{f"nn.adaptive_{kind}_pool{rank}d": adaptive(f"adaptive_{kind}_pool{rank}d", rank)
       for rank in (1, 2, 3) for kind in ("max", "avg")},
    **{f"nn.global_{kind}_pool2d": whole(f"global_{kind}_pool2d")
       for kind in ("max", "avg")},
    **{f"image.resize{rank}d": resize(f"resize{rank}d", rank) for rank in (1, 2, 3)},
    **{f"nn.{name}": along(name)
       for name in ["softmax", "log_softmax", "fast_softmax"]},
    **{f"nn.{name}": sub_pixel(name) for name in ["depth_to_space", "space_to_depth"]},
    **{f"nn.{name}": cross_entropy(name)
       for name in ["cross_entropy", "cross_entropy_with_logits"]},
    "nn.contrib_conv2d_NCHWc": blocked,
    "nn.contrib_depthwise_conv2d_NCHWc": blocked_depthwise,
    "nn.batch_norm": affine("batch_norm"),
    "nn.layer_norm": affine("layer_norm"),
    "nn.instance_norm": affine("instance_norm", 3),
    "nn.group_norm": group_norm,
    "nn.relu": lambda draw: nn.relu(ints(*shape(draw))),
    "nn.leaky_relu": lambda draw: nn.leaky_relu(floats(*shape(draw)), 0.1),
    "nn.prelu": prelu,
    "nn.dropout": lambda draw: nn.dropout_raw(floats(*shape(draw))),
    "nn.batch_flatten": lambda draw: nn.batch_flatten(floats(*shape(draw, 1))),
    "nn.bias_add": bias_add,
    "nn.dense": dense,
    "nn.matmul": matmul,
    "nn.batch_matmul": batch_matmul,
    "nn.pad": pad,
    "nn.mirror_pad": mirror_pad,
    "nn.space_to_batch_nd": space_to_batch,
    "nn.batch_to_space_nd": batch_to_space,
    "nn.nll_loss": nll_loss,
    "nn.lrn": lambda draw: nn.lrn(
        floats(*(s := shape(draw, 1))), choice(draw, 1, 3), axis(draw, len(s))
    ),
    "nn.l2_normalize": lambda draw: nn.l2_normalize(
        floats(*(s := shape(draw, 1))), 1e-3, axis(draw, len(s))
    ),
    "nn.upsampling": upsampling,
    "nn.upsampling3d": upsampling3d,
}  # fmt: skip
