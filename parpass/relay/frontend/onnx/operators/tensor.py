"""Constants, and what moves elements about without computing."""

from __future__ import annotations

from math import prod

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import axes_of, element, normal_axis
from parpass.relay.frontend.onnx.operators.index import from_front


def _constant(node: OnnxNode) -> Expr:
    array = node.tensor("value")
    if array is not None:
        return const(array)
    if node.has("value_float"):
        return const(np.float32(node.number("value_float", 0.0)))
    if node.has("value_int"):
        return const(np.int64(node.integer("value_int", 0)))
    floats, integers = node.numbers("value_floats"), node.integers("value_ints")
    if floats is not None:
        return const(np.asarray(floats, np.float32))
    if integers is not None:
        return const(np.asarray(integers, np.int64))
    raise node.refusal("expected a tensor or numbers for its value")


def _constant_of_shape(node: OnnxNode) -> Expr:
    value = node.tensor("value")
    scalar = np.zeros((), np.float32) if value is None else value
    if scalar.size != 1:
        raise node.fault(f"expected one number for its value, got {scalar.size}")
    if not node.is_known(0):
        dtype = scalar.dtype.name
        return op.dyn.full(const(scalar.reshape(())), node.input(0), dtype)
    shape = node.known_ints(0, "shape")
    if shape and min(shape) < 0:
        raise node.fault(f"expected a shape, got {shape}")
    return op.full(const(scalar.reshape(())), shape=shape, dtype=scalar.dtype.name)


def _identity(node: OnnxNode) -> Expr:
    return node.input(0)


def _reshape(node: OnnxNode) -> Expr:
    data = node.input(0)
    allow_zero = node.integer("allowzero", 0) != 0
    if not node.is_known(1):
        return op.dyn.reshape(data, node.input(1), allow_zero)
    wanted = list(node.known_ints(1, "shape"))
    if not node.has_static_shape(data):
        return op.reshape(data, wanted, allow_zero)
    old = node.shape(data)
    for at, size in enumerate(wanted):
        if size == 0 and not allow_zero:
            if at >= len(old):
                raise node.fault(f"shape {wanted} copies a dimension that {old} lacks")
            wanted[at] = old[at]
    if wanted.count(-1) == 1:
        rest = prod(size for size in wanted if size != -1)
        wanted[wanted.index(-1)] = prod(old) // rest if rest else 0
    if min(wanted, default=0) < 0 or prod(wanted) != prod(old):
        raise node.fault(f"data of shape {old} cannot take the shape {wanted}")
    return op.reshape(data, tuple(wanted), allowzero=0 in wanted)


def _flatten(node: OnnxNode) -> Expr:
    data = node.input(0)
    axis = normal_axis(node, node.integer("axis", 1), node.dims(data), end=1)
    if not node.has_static_shape(data):
        return _flatten_dynamic(node, data, axis)
    shape = node.shape(data)
    flat = (prod(shape[:axis]), prod(shape[axis:]))
    return op.reshape(data, flat, allowzero=0 in flat)


def _flatten_dynamic(node: OnnxNode, data: Expr, axis: int) -> Expr:
    """Flatten a tensor of unknown shape to a matrix, by the length of one side."""
    front, back = (
        prod(dim if isinstance(dim, int) else 0 for dim in dims)
        for dims in (node.dims(data)[:axis], node.dims(data)[axis:])
    )
    if front or back:
        return op.reshape(data, (front or -1, back or -1))
    shape = op.shape_of(data, "int64")
    sides = (
        op.prod(op.strided_slice(shape, begin, end), 0, True)
        for begin, end in ((0, axis), (axis, node.rank(data)))
    )
    return op.dyn.reshape(data, op.concatenate(list(sides), 0), allowzero=True)


def _transpose(node: OnnxNode) -> Expr:
    data = node.input(0)
    rank = node.rank(data)
    perm = node.integers("perm") or tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        raise node.fault(f"perm {perm} is not a permutation of {rank} dimensions")
    return op.transpose(data, axes=perm)


def _unsqueeze(node: OnnxNode) -> Expr:
    data, axes = node.input(0), axes_of(node)
    if axes is None:
        raise node.fault("expected axes, got none")
    if isinstance(axes, Expr):
        return _unsqueeze_dynamic(node, data, axes)
    result = [0] * (node.rank(data) + len(axes))
    places = {normal_axis(node, axis, result) for axis in axes}
    if len(places) != len(axes):
        raise node.fault(f"expected axes that differ, got {axes}")
    for place in sorted(places):
        data = op.expand_dims(data, axis=place)
    return data


def _unsqueeze_dynamic(node: OnnxNode, data: Expr, axes: Expr) -> Expr:
    """The first axis of the result comes first, which moves no other one."""
    count = node.count(axes, "axes")
    axes = op.sort(from_front(node, axes, node.rank(data) + count), 0)
    for at in range(count):
        data = op.dyn.expand_dims(data, element(axes, at))
    return data


def _squeeze(node: OnnxNode) -> Expr:
    data, axes = node.input(0), axes_of(node)
    if isinstance(axes, Expr):
        return op.dyn.squeeze(data, axes)
    dims = node.dims(data)
    if axes is None:
        places = [at for at, size in enumerate(node.shape(data)) if size == 1]
    else:
        places = sorted({normal_axis(node, axis, dims) for axis in axes})
    if any(isinstance(dims[at], int) and dims[at] != 1 for at in places):
        raise node.fault(f"axes {axes} of shape {dims} are not all of size 1")
    return op.squeeze(data, axis=tuple(places)) if places else data


def _concat(node: OnnxNode) -> Expr:
    parts = node.inputs()
    if not node.has("axis"):
        raise node.fault("expected the attribute 'axis', got none")
    axis = normal_axis(node, node.integer("axis", 0), node.dims(parts[0]))
    return op.concatenate(Tuple(tuple(parts)), axis=axis)


TENSOR: dict[str, Converter] = {
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Flatten": _flatten,
    "Identity": _identity,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
