"""Padding, by numbers that are known or by those of the running model."""

from __future__ import annotations

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators.axes import normal_axis, shape_of, whole
from parpass.relay.frontend.onnx.operators.index import from_front
from parpass.relay.frontend.onnx.operators.signature import Converter


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


def _wrapped(node: OnnxNode, data: Expr, widths: Expr) -> Expr:
    """Each axis takes its elements again and again, on both sides."""
    shape = shape_of(node, data)
    for axis in range(node.rank(data)):
        length = op.take(shape, const(np.int64(axis)), 0)
        before, behind = (
            op.take(op.take(widths, const(np.int64(axis)), 0), const(np.int64(at)), 0)
            for at in (0, 1)
        )
        places = op.arange(op.negative(before), op.add(length, behind), 1, "int64")
        data = op.take(data, op.floor_mod(places, length), axis)
    return data


def _pad(node: OnnxNode) -> Expr:
    data, mode = node.input(0), node.text("mode", "constant")
    rank = node.rank(data)
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise node.fault(f"mode is '{mode}', which ONNX does not know")
    if node.opset >= 11 and not (node.is_known(1) and node.is_known(3)):
        widths, given = _widths(node, rank), node.optional(2)
        if mode == "wrap":
            return _wrapped(node, data, widths)
        value = node.scalar(0, data) if given is None else op.reshape(given, ())
        return op.dyn.nn.pad(data, widths, value, mode)
    if node.opset < 11:
        pads = node.integers("pads") or ()
        value = node.scalar(node.number("value", 0.0), data)
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
    if mode == "wrap":
        return _wrapped(node, data, const(np.array(widths, "int64")))
    return op.nn.pad(data, widths, value, mode)


PAD: dict[str, Converter] = {"Pad": _pad}
