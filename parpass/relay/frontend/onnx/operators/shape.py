"""What asks for shapes, and what repeats, cuts and pads along axes."""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np
import onnx

from parpass.relay import op
from parpass.relay.expr import Expr, TupleWrapper, const
from parpass.relay.frontend.onnx.node import Node, dtype_of
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter
from parpass.relay.frontend.onnx.operators.tensor import cast_to


def _shape(node: Node) -> Expr:
    shape = node.shape(node.input(0))
    start, end = node.integer("start", 0), node.integer("end", len(shape))
    return const(np.array(shape[start:end], "int64"))


def _size(node: Node) -> Expr:
    return const(np.int64(prod(node.shape(node.input(0)))))


def _range(node: Node) -> Expr:
    bounds = [
        node.known(index, what)
        for index, what in enumerate(("start", "limit", "delta"))
    ]
    dtype = node.dtype(node.input(0))
    start, stop, step = (const(bound.reshape(()), dtype) for bound in bounds)
    return op.arange(start, stop, step, dtype)


def _expand(node: Node) -> Expr:
    data, wanted = node.input(0), node.known_ints(1, "shape")
    try:
        shape = np.broadcast_shapes(node.shape(data), wanted)
    except ValueError:
        raise node.fault(f"{node.shape(data)} does not expand to {wanted}") from None
    return op.broadcast_to(data, shape)


def _tile(node: Node) -> Expr:
    return op.tile(node.input(0), node.known_ints(1, "repeats"))


def _slice(node: Node) -> Expr:
    data = node.input(0)
    shape = node.shape(data)
    if node.opset < 10:
        starts, ends = node.integers("starts") or (), node.integers("ends") or ()
        axes, steps = node.integers("axes"), None
    else:
        starts, ends = node.known_ints(1, "starts"), node.known_ints(2, "ends")
        axes = None if node.optional(3) is None else node.known_ints(3, "axes")
        steps = None if node.optional(4) is None else node.known_ints(4, "steps")
    axes = axes or tuple(range(len(starts)))
    steps = steps or (1,) * len(starts)
    if len({len(starts), len(ends), len(axes), len(steps)}) > 1:
        raise node.fault("expected as many starts, ends, axes and steps")
    places = tuple(normal_axis(node, axis, shape) for axis in axes)
    # Bounds may be as large as integers are; no tensor is.
    limit = max((*shape, 1))
    begin, end = (
        tuple(max(-2 * limit, min(bound, 2 * limit)) for bound in bounds)
        for bounds in (starts, ends)
    )
    return op.strided_slice(data, begin, end, steps, places)


def _split(node: Node) -> TupleWrapper:
    data = node.input(0)
    shape = node.shape(data)
    axis = normal_axis(node, node.integer("axis", 0), shape)
    parts = node.integers("split")
    if parts is None and node.optional(1) is not None:
        parts = node.known_ints(1, "split")
    count = node.integer("num_outputs", node.output_count)
    if parts is None:
        each = -(-shape[axis] // count)
        parts = (*(each,) * (count - 1), shape[axis] - each * (count - 1))
    if sum(parts) != shape[axis] or min(parts) < 0:
        raise node.fault(f"parts {parts} do not make up the length {shape[axis]}")
    return op.split(data, tuple(accumulate(parts[:-1])), axis)


def _pad(node: Node) -> Expr:
    data, mode = node.input(0), node.text("mode", "constant")
    rank = len(node.shape(data))
    if node.opset < 11:
        pads = node.integers("pads") or ()
        value: Expr = node.scalar(node.number("value", 0.0), data)
    else:
        pads = node.known_ints(1, "pads")
        given = node.optional(2)
        value = node.scalar(0, data) if given is None else op.reshape(given, ())
    axes = range(rank)
    if node.opset >= 18 and node.optional(3) is not None:
        axes = [normal_axis(node, at, (0,) * rank) for at in node.known_ints(3, "axes")]
    if len(pads) != 2 * len(axes) or min(pads, default=0) < 0:
        raise node.refusal(f"expected two pads from 0 up for each axis, got {pads}")
    widths = [(0, 0)] * rank
    for at, axis in enumerate(axes):
        widths[axis] = pads[at], pads[at + len(axes)]
    if mode not in ("constant", "edge", "reflect"):
        raise node.refusal(f"mode '{mode}' is not supported")
    return op.nn.pad(data, widths, value, mode)


def _trilu(node: Node) -> Expr:
    data, given = node.input(0), node.optional(1)
    k = const(np.int64(0)) if given is None else op.reshape(given, ())
    return op.trilu(data, k, node.integer("upper", 1) != 0)


def _cast_like(node: Node) -> Expr:
    return cast_to(node, node.dtype(node.input(1)))


def _eye_like(node: Node) -> Expr:
    data = node.input(0)
    shape = node.shape(data)
    if len(shape) != 2:
        raise node.fault(f"expected a matrix, got shape {shape}")
    dtype = node.dtype(data)
    if node.has("dtype"):
        dtype = dtype_of(node.integer("dtype", onnx.TensorProto.FLOAT)) or dtype
    return const(np.eye(*shape, k=node.integer("k", 0), dtype=dtype))


SHAPE: dict[str, Converter] = {
    "CastLike": _cast_like,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Pad": _pad,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Trilu": _trilu,
}
