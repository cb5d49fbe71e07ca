"""Converters of operators on shapes: queries, repetition, slices, padding.

Paddings are static or computed by the program.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np
import onnx

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import (
    element,
    normal_axis,
    shape_of,
    whole,
)
from parpass.relay.frontend.onnx.operators.index import from_front
from parpass.relay.frontend.onnx.tensor_proto import dtype_of


def _shape(node: OnnxNode) -> Expr:
    data = node.input(0)
    rank = node.rank(data)
    start, end = node.integer("start", 0), node.integer("end", rank)
    dims = node.dims(data)[start:end]
    known = [dim for dim in dims if isinstance(dim, int)]
    if len(known) == len(dims):
        return const(np.array(known, "int64"))
    start, end, _ = slice(start, end).indices(rank)
    return op.strided_slice(op.shape_of(data, "int64"), start, max(start, end))


def _size(node: OnnxNode) -> Expr:
    data = node.input(0)
    if node.has_static_shape(data):
        return const(np.int64(prod(node.shape(data))))
    return op.ndarray_size(data, "int64")


def _range(node: OnnxNode) -> Expr:
    dtype = node.dtype(node.input(0))
    start, stop, step = (_bound(node, index, dtype) for index in range(3))
    return op.arange(start, stop, step, dtype)


def _bound(node: OnnxNode, index: int, dtype: str) -> Expr:
    known = node.known_or_none(index)
    if known is None:
        return op.reshape(node.input(index), ())
    if known.size != 1:
        raise node.fault(f"expected one number for each bound, got {known.size}")
    return const(known.reshape(()), dtype)


def _expand(node: OnnxNode) -> Expr:
    data = node.input(0)
    if not (node.is_known(1) and node.has_static_shape(data)):
        return _expand_dynamic(node, data, whole(node, 1))
    wanted = node.known_ints(1, "shape")
    try:
        shape = np.broadcast_shapes(node.shape(data), wanted)
    except ValueError:
        raise node.fault(f"{node.shape(data)} does not expand to {wanted}") from None
    return op.broadcast_to(data, shape)


def _expand_dynamic(node: OnnxNode, data: Expr, wanted: Expr) -> Expr:
    """A length of 1 takes that of the other shape, on both sides."""
    (count,), rank = node.shape(wanted), node.rank(data)
    longer = max(count, rank)
    old, new = (
        op.concatenate([const(np.ones(longer - has, "int64")), dims], 0)
        for dims, has in ((shape_of(node, data), rank), (wanted, count))
    )
    one = op.equal(new, node.scalar(1, new))
    return op.dyn.broadcast_to(data, op.where(one, old, new))


def _tile(node: OnnxNode) -> Expr:
    if not node.is_known(1):
        return op.dyn.tile(node.input(0), node.input(1))
    return op.tile(node.input(0), node.known_ints(1, "repeats"))


def _slice_dynamic(node: OnnxNode, data: Expr) -> Expr:
    """Bounds are for some axes; those of the others take all."""
    rank = node.rank(data)
    count = node.count(node.input(1), "starts")
    axes = const(np.arange(count)) if node.optional(3) is None else whole(node, 3)
    given = [
        const(np.ones(count, "int64")) if node.optional(at) is None else whole(node, at)
        for at in (1, 2, 4)
    ]
    axes = from_front(node, axes, rank)
    begin, end, steps = (
        op.scatter_elements(const(np.full(rank, rest, "int64")), axes, one, 0)
        for rest, one in zip((0, np.iinfo("int64").max, 1), given, strict=True)
    )
    return op.dyn.strided_slice(data, begin, end, steps)


def _slice(node: OnnxNode) -> Expr:
    data = node.input(0)
    if node.opset >= 10 and not all(node.is_known(at) for at in range(1, 5)):
        return _slice_dynamic(node, data)
    dims = node.dims(data)
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
        raise node.fault("expected equal numbers of starts, ends, axes and steps")
    places = tuple(normal_axis(node, axis, dims) for axis in axes)
    # Bounds may be as large as integers are; no tensor is.
    known = [dim for dim in dims if isinstance(dim, int)]
    limit = max((*known, 1)) if len(known) == len(dims) else 2**31
    begin, end = (
        tuple(max(-2 * limit, min(bound, 2 * limit)) for bound in bounds)
        for bounds in (starts, ends)
    )
    return op.strided_slice(data, begin, end, steps, places)


def _even_parts(node: OnnxNode, data: Expr, axis: int, count: int) -> Expr:
    """Return equal lengths of parts; the slice for the last one may be shorter."""
    length = op.take(shape_of(node, data), const(np.array([axis])), 0)
    more = op.add(length, const(np.array([count - 1])))
    return op.repeat(op.floor_divide(more, const(np.array([count]))), count)


def _split_dynamic(node: OnnxNode, data: Expr, axis: int, parts: Expr) -> TupleWrapper:
    """Each part is a slice that begins where those before it end."""
    (count,) = node.shape(parts)
    ends = op.cumsum(parts, 0)
    bounds = [op.subtract(ends, parts), ends]
    fields: list[Expr] = []
    for at in range(count):
        begin, end = (
            op.concatenate(
                [
                    const(np.full(axis, rest, "int64")),
                    op.strided_slice(bound, at, at + 1),
                ],
                0,
            )
            for rest, bound in zip((0, np.iinfo("int64").max), bounds, strict=True)
        )
        steps = const(np.ones(axis + 1, "int64"))
        fields.append(op.dyn.strided_slice(data, begin, end, steps))
    return TupleWrapper(Tuple(tuple(fields)), count)


def _split(node: OnnxNode) -> TupleWrapper:
    data = node.input(0)
    axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
    if not node.has("split") and not node.is_known(1):
        return _split_dynamic(node, data, axis, whole(node, 1))
    parts = node.integers("split")
    if parts is None and node.optional(1) is not None:
        parts = node.known_ints(1, "split")
    count = node.integer("num_outputs", node.output_count)
    if parts is None and not isinstance(node.dims(data)[axis], int):
        return _split_dynamic(node, data, axis, _even_parts(node, data, axis, count))
    if parts is None:
        (length,) = node.lengths(data, [axis])
        each = -(-length // count)
        parts = (*(each,) * (count - 1), length - each * (count - 1))
    length = node.dims(data)[axis]
    if min(parts) < 0 or (isinstance(length, int) and sum(parts) != length):
        raise node.fault(f"parts {parts} do not add up to the length {length}")
    return op.split(data, tuple(accumulate(parts[:-1])), axis)


def _trilu(node: OnnxNode) -> Expr:
    data, given = node.input(0), node.optional(1)
    k = const(np.int64(0)) if given is None else op.reshape(given, ())
    return op.trilu(data, k, node.integer("upper", 1) != 0)


def _eye_like(node: OnnxNode) -> Expr:
    data = node.input(0)
    shape = node.shape(data)
    if len(shape) != 2:
        raise node.fault(f"expected a matrix, got shape {shape}")
    dtype = node.dtype(data)
    if node.has("dtype"):
        dtype = dtype_of(node.integer("dtype", onnx.TensorProto.FLOAT)) or dtype
    return const(np.eye(*shape, k=node.integer("k", 0), dtype=dtype))


SHAPE: dict[str, Converter] = {
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Trilu": _trilu,
}


def _widths(node: OnnxNode, rank: int) -> Expr:
    """Return the pads that only the running model knows, as a row for each axis."""
    pads = whole(node, 1)
    (count,) = node.shape(pads)
    rows = op.transpose(op.reshape(pads, (2, count // 2)), (1, 0))
    if node.opset < 18 or node.optional(3) is None:
        return rows
    axes = from_front(node, whole(node, 3), rank)
    places = op.broadcast_to(op.expand_dims(axes, 1), (count // 2, 2))
    return op.scatter_elements(const(np.zeros((rank, 2), "int64")), places, rows, 0)


_END = 2**31  # no axis is longer


def _wrapped(node: OnnxNode, data: Expr, widths: Expr) -> Expr:
    """Each axis takes its elements again and again, on both sides."""
    shape = shape_of(node, data)
    for axis in range(node.rank(data)):
        length = element(shape, axis)
        before, behind = (element(element(widths, axis), at) for at in (0, 1))
        places = op.arange(op.negative(before), op.add(length, behind), 1, "int64")
        data = op.take(data, op.floor_mod(places, length), axis)
    return data


def _pad(node: OnnxNode) -> Expr:
    """Pads below 0 cut off elements, before any are added."""
    data, mode = node.input(0), node.text("mode", "constant")
    rank = node.rank(data)
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise node.fault(f"mode is '{mode}', which ONNX does not know")
    if node.opset < 11:
        value: Expr = node.scalar(node.number("value", 0.0), data)
    else:
        given = node.optional(2)
        value = node.scalar(0, data) if given is None else op.reshape(given, ())
    if node.opset >= 11 and not (node.is_known(1) and node.is_known(3)):
        return _pad_dynamic(node, data, mode, value)
    if node.opset < 11:
        pads = node.integers("pads") or ()
    else:
        pads = node.known_ints(1, "pads")
    axes = range(rank)
    if node.opset >= 18 and node.optional(3) is not None:
        axes = [normal_axis(node, at, (0,) * rank) for at in node.known_ints(3, "axes")]
    if len(pads) != 2 * len(axes):
        raise node.fault(f"expected two pads for each axis, got {pads}")
    widths = [(0, 0)] * rank
    for at, axis in enumerate(axes):
        widths[axis] = pads[at], pads[at + len(axes)]
    if min(pads, default=0) < 0:
        data = _cut(node, data, widths)
        widths = [(max(before, 0), max(behind, 0)) for before, behind in widths]
    if mode == "wrap":
        return _wrapped(node, data, const(np.array(widths, "int64")))
    return op.nn.pad(data, widths, value, mode)


def _cut(node: OnnxNode, data: Expr, widths: list[tuple[int, int]]) -> Expr:
    """Return data without as many elements as there are pads below 0."""
    for dim, (before, behind) in zip(node.dims(data), widths, strict=True):
        off = max(-before, 0) + max(-behind, 0)
        if isinstance(dim, int) and off > dim:
            raise node.fault(f"its pads cut off {off} elements of {dim}")
    begin = [max(-before, 0) for before, _ in widths]
    end = [min(behind, 0) or _END for _, behind in widths]
    return op.strided_slice(data, begin, end)


def _pad_dynamic(node: OnnxNode, data: Expr, mode: str, value: Expr) -> Expr:
    zero, widths = const(np.int64(0)), _widths(node, node.rank(data))
    off = op.maximum(op.negative(widths), zero)
    begin = element(off, 0, 1)
    end = op.subtract(shape_of(node, data), element(off, 1, 1))
    steps = const(np.ones(node.rank(data), "int64"))
    data = op.dyn.strided_slice(data, begin, end, steps)
    widths = op.maximum(widths, zero)
    if mode == "wrap":
        return _wrapped(node, data, widths)
    return op.dyn.nn.pad(data, widths, value, mode)


PAD: dict[str, Converter] = {"Pad": _pad}
