"""Axes as ONNX counts them, negative ones from the end, and shapes as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, If, const
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.runtime.dtypes import is_int_dtype

_MAX_RANK = 64  # numpy's own

Axes = tuple[int, ...] | Expr


def normal_axis(
    node: OnnxNode, axis: int, shape: Sequence[object], *, end: int = 0
) -> int:
    """Return an axis of a shape counted from the front.

    Args:
        node: The node that names the axis.
        axis: The axis, negative to count from the end.
        shape: The shape that it is an axis of.
        end: 1 where the place behind the last axis is meant too.

    Raises:
        MalformedModelError: The shape has no such axis, or more than any tensor has.
    """
    rank = len(shape)
    if rank > _MAX_RANK:
        raise node.fault(f"expected at most {_MAX_RANK} dimensions, got {rank}")
    if not -rank <= axis < rank + end:
        raise node.fault(f"axis {axis} is out of range of {rank} dimensions")
    return axis + rank if axis < 0 else axis


def axes_of(node: OnnxNode, as_input: int = 13) -> Axes | None:
    """Return the axes that a node names: an attribute, from an opset on an input.

    They are an expression where only the running model knows them, though how many
    there are is known.
    """
    if node.opset < as_input:
        return node.integers("axes")
    given = node.optional(1)
    if given is None:
        return None
    if node.is_known(1):
        return node.known_ints(1, "axes")
    return given if node.shape(given) != (0,) else ()


def element(data: Expr, at: int, axis: int = 0) -> Expr:
    """Return what a tensor has at one place of an axis, which goes."""
    return op.take(data, const(np.int64(at)), axis)


def by_axis(
    node: OnnxNode, axis: Expr, data: Expr, build: Callable[[int], Expr]
) -> Expr:
    """Return what is built for the one axis that only the running model knows.

    The result has the same type whatever the axis is.
    """
    rank = node.rank(data)
    axis = op.reshape(axis, ())
    from_front = op.where(
        op.less(axis, node.scalar(0, axis)),
        op.add(axis, node.scalar(rank, axis)),
        axis,
    )
    found = build(0)
    for at in range(1, rank):
        found = If(op.equal(from_front, node.scalar(at, axis)), build(at), found)
    return found


def shape_of(node: OnnxNode, data: Expr) -> Expr:
    """Return a shape as a vector: a constant if it is known."""
    if node.has_static_shape(data):
        return const(np.array(node.shape(data), "int64"))
    return op.shape_of(data, "int64")


def whole(node: OnnxNode, index: int) -> Expr:
    """Return an input that only the running model knows, a vector, as int64.

    Raises:
        MalformedModelError: It has other dimensions, or is of another dtype.
    """
    given = node.of_rank(1, node.input(index), f"input number {index + 1}")
    if not is_int_dtype(node.dtype(given)):
        raise node.fault(f"expected whole numbers, got {node.dtype(given)}")
    return op.cast(given, "int64")
