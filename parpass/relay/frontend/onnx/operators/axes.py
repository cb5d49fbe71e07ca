"""Axes as ONNX counts them, negative ones from the end."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.frontend.onnx.node import Node

_MAX_RANK = 64  # numpy's own


def normal_axis(node: Node, axis: int, shape: Sequence[int], *, end: int = 0) -> int:
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


def axes_of(node: Node) -> tuple[int, ...] | None:
    """Return the axes that a node names: an attribute, from opset 13 on an input."""
    if node.opset < 13:
        return node.integers("axes")
    return None if node.optional(1) is None else node.known_ints(1, "axes")
