"""Gradients of operators that rearrange, sum, multiply or index whole tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from parpass.errors import IRError
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr, Tuple, const
from parpass.relay.op import nn
from parpass.relay.op.declaration.type_relations import normal_axes
from parpass.relay.op.transform.select import slices_of
from parpass.relay.transform.gradients.pointwise_gradients import (
    Gradient,
    WideFloats,
    number,
)


def _shape(expr: Expr) -> tuple[Any, ...]:
    return cast("TensorType", expr.checked_type).shape


def _reshape(call: Call, grad: Expr) -> list[Expr]:
    data, *others = call.args
    return [op.reshape_like(grad, data), *map(op.zeros_like, others)]


def _transpose(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    axes, rank = call.attrs.axes, len(_shape(data))
    if axes is None:
        return [op.transpose(grad)]
    order = normal_axes(axes, rank)
    return [op.transpose(grad, sorted(range(rank), key=order.__getitem__))]


def _broadcast(call: Call, grad: Expr) -> list[Expr]:
    data, *others = call.args
    return [op.collapse_sum_like(grad, data), *map(op.zeros_like, others)]


def _collapse(call: Call, grad: Expr) -> list[Expr]:
    data, *others = call.args
    return [op.broadcast_to_like(grad, data), *map(op.zeros_like, others)]


def _axes(call: Call) -> tuple[int, ...]:
    """Return the axes that a reduction reduces."""
    attrs, rank = call.attrs, len(_shape(call.args[0]))
    if attrs.axis is None:
        return tuple(range(rank))
    axes = normal_axes(attrs.axis, rank)
    return tuple(at for at in range(rank) if (at in axes) != attrs.exclude)


def _spread(call: Call, reduced: Expr) -> Expr:
    """Return what has the shape of a reduction's result in that of its argument."""
    data, *_ = call.args
    if not call.attrs.keepdims:
        for axis in sorted(_axes(call)):
            reduced = op.expand_dims(reduced, axis)
    return op.broadcast_to_like(reduced, data)


def _sum(call: Call, grad: Expr) -> list[Expr]:
    return [_spread(call, grad)]


def _count(call: Call, wide: WideFloats) -> Expr:
    """Return how many elements become one by a reduction, in the result's shape."""
    ones = wide(op.ones_like(call.args[0]))
    return op.sum(ones, _axes(call), call.attrs.keepdims)


def _mean(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    wide = WideFloats(data)
    return [_spread(call, wide.rounded(wide(grad) / _count(call, wide)))]


def _variance(call: Call, grad: Expr) -> list[Expr]:
    data, around = call.args
    wide = WideFloats(data)
    count = _count(call, wide)
    values = wide(data)
    count = count - number(1.0, values) if call.attrs.unbiased else count
    each = _spread(call, wide(grad) * number(2.0, values) / count)
    away = each * (values - wide(around))
    of_around = op.collapse_sum_like(op.negative(away), around)
    return [wide.rounded(away), wide.rounded(of_around)]


def _extremum(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    is_it = op.cast_like(op.equal(data, _spread(call, call)), grad)
    return [is_it * _spread(call, grad)]


def _slices(data: Expr, axis: int, lengths: list[int]) -> list[Expr]:
    begin, found = 0, list[Expr]()
    for length in lengths:
        found.append(op.strided_slice(data, [begin], [begin + length], axes=[axis]))
        begin += length
    return found


def _concatenate(call: Call, grad: Expr) -> list[Expr]:
    fields = cast("Any", call.args[0].checked_type).fields
    (axis,) = normal_axes((call.attrs.axis,), len(fields[0].shape))
    lengths = [field.concrete_shape[axis] for field in fields]
    return [Tuple(tuple(_slices(grad, axis, lengths)))]


def _stack(call: Call, grad: Expr) -> list[Expr]:
    count = len(cast("Any", call.args[0].checked_type).fields)
    (axis,) = normal_axes((call.attrs.axis,), len(_shape(call)))
    slices = _slices(grad, axis, [1] * count)
    return [Tuple(tuple(op.squeeze(one, [axis]) for one in slices))]


def _split(call: Call, grad: Expr) -> list[Expr]:
    return [op.concatenate(grad, call.attrs.axis)]


def _strided_slice(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    shape = cast("TensorType", data.checked_type).concrete_shape
    parts = [
        part.indices(dim)
        for part, dim in zip(slices_of(call.attrs, shape), shape, strict=True)
    ]
    begin, end, strides = zip(*parts, strict=True)
    # An end before the first element is one that counting from behind does not reach.
    ends = [at if at >= 0 else -1 - dim for at, dim in zip(end, shape, strict=True)]
    return [op.strided_set(op.zeros_like(data), grad, begin, ends, strides)]


def _full(call: Call, grad: Expr) -> list[Expr]:
    del call
    return [op.sum(grad)]


def _bias_add(call: Call, grad: Expr) -> list[Expr]:
    return [grad, op.sum(grad, call.attrs.axis, exclude=True)]


def _dense(call: Call, grad: Expr) -> list[Expr]:
    data, weight = call.args
    rows = [op.reshape(one, (-1, _shape(one)[-1])) if len(_shape(one)) > 2 else one
            for one in (data, call)]  # fmt: skip
    flat = grad if rows[1] is call else op.reshape(grad, (-1, _shape(call)[-1]))
    along = nn.dense(grad, op.transpose(weight))
    return [along, nn.dense(op.transpose(flat), op.transpose(rows[0]))]


def _matmul(call: Call, grad: Expr) -> list[Expr]:
    a, b = (
        op.transpose(arg) if is_transposed else arg
        for arg, is_transposed in zip(
            call.args, (call.attrs.transpose_a, call.attrs.transpose_b), strict=True
        )
    )
    by_a, by_b = (
        nn.matmul(grad, b, transpose_b=True),
        nn.matmul(a, grad, transpose_a=True),
    )
    return [
        op.transpose(by_a) if call.attrs.transpose_a else by_a,
        op.transpose(by_b) if call.attrs.transpose_b else by_b,
    ]


def _batch_matmul(call: Call, grad: Expr) -> list[Expr]:
    x, y = call.args
    is_x, is_y = call.attrs.transpose_a, call.attrs.transpose_b
    wide = WideFloats(x)

    def product(a: Expr, b: Expr, ta: bool, tb: bool) -> Expr:
        return nn.batch_matmul(a, b, wide.out_dtype, ta, tb)

    left = product(y, grad, is_y, True) if is_x else product(grad, y, False, not is_y)
    right = product(grad, x, True, is_x) if is_y else product(x, grad, not is_x, False)
    pairs = (left, x), (right, y)
    return [wide.rounded(op.collapse_sum_like(*pair)) for pair in pairs]


def _softmax(call: Call, grad: Expr) -> list[Expr]:
    wide = WideFloats(call)
    by, result = wide(grad), wide(call)
    total = op.sum(by * result, call.attrs.axis, keepdims=True)
    return [wide.rounded((by - total) * result)]


def _log_softmax(call: Call, grad: Expr) -> list[Expr]:
    wide = WideFloats(call)
    by = wide(grad)
    total = op.sum(by, call.attrs.axis, keepdims=True)
    return [wide.rounded(by - total * op.exp(wide(call)))]


def _cross_entropy(derivative: Callable[[Expr, Expr], list[Expr]]) -> Gradient:
    def gradient(call: Call, grad: Expr) -> list[Expr]:
        wide = WideFloats(call)
        by, (x, y) = wide(grad), map(wide, call.args)
        batch = number(cast("TensorType", x.checked_type).concrete_shape[0], x)
        return [wide.rounded(op.negative(by * one) / batch) for one in derivative(x, y)]

    return gradient


STRUCTURAL: Mapping[str, Gradient] = {
    "concatenate": _concatenate,
    "full": _full,
    "mean": _mean,
    "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add,
    "nn.cross_entropy": _cross_entropy(lambda x, y: [y / x, op.log(x)]),
    "nn.cross_entropy_with_logits": _cross_entropy(lambda x, y: [y, x]),
    "nn.dense": _dense,
    "nn.log_softmax": _log_softmax,
    "nn.matmul": _matmul,
    "nn.softmax": _softmax,
    "ones": lambda _call, _grad: [],
    "split": _split,
    "stack": _stack,
    "strided_slice": _strided_slice,
    "sum": _sum,
    "transpose": _transpose,
    "variance": _variance,
    "zeros": lambda _call, _grad: [],
    **dict.fromkeys(("broadcast_to", "broadcast_to_like"), _broadcast),
    **dict.fromkeys(("collapse_sum_like", "collapse_sum_to"), _collapse),
    **dict.fromkeys(("max", "min"), _extremum),
    **dict.fromkeys(
        ("contrib_reverse_reshape", "dyn.reshape", "expand_dims", "nn.batch_flatten",
         "reshape", "reshape_like", "squeeze"),
        _reshape,
    ),
}  # fmt: skip


def _gather(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    zeros = op.zeros_like(data)
    back = op.scatter_elements(zeros, indices, grad, call.attrs.axis, "add")
    return [back, op.zeros_like(indices)]


def _gather_nd(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    if call.attrs.batch_dims:
        raise IRError(
            "expected a 'gather_nd' without batch_dims to differentiate, got "
            f"{call.attrs.batch_dims}"
        )
    back = op.scatter_nd(op.zeros_like(data), indices, grad, "add")
    return [back, op.zeros_like(indices)]


def _take(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    attrs = call.attrs
    if attrs.batch_dims:
        raise IRError(
            "expected a 'take' without batch_dims to differentiate, got "
            f"{attrs.batch_dims}"
        )
    shape = cast("TensorType", data.checked_type).concrete_shape
    if attrs.axis is None:
        before, length, behind = (), math.prod(shape), ()
    else:
        (axis,) = normal_axes((attrs.axis,), len(shape))
        before, length, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    # The axis that is picked from becomes the first one, in which slices are added.
    sizes = (math.prod(before), math.prod(behind))
    slices = op.transpose(op.reshape(grad, (sizes[0], -1, sizes[1])), (1, 0, 2))
    dtype = cast("TensorType", data.checked_type).dtype
    zeros = op.zeros((length, *sizes), dtype)
    places = op.reshape(_in_range(indices, length, attrs.mode), (1, -1))
    back = op.transpose(op.scatter_nd(zeros, places, slices, "add"), (1, 0, 2))
    return [op.reshape(back, shape), op.zeros_like(indices)]


def _in_range(indices: Expr, length: int, mode: str) -> Expr:
    """Return the indices that `take` goes by."""
    dtype = cast("TensorType", indices.checked_type).dtype
    if mode == "wrap":
        return op.floor_mod(indices, const(length, dtype))
    return op.clip(indices, 0, length - 1)


def _one_hot(call: Call, grad: Expr) -> list[Expr]:
    indices, on_value, off_value = call.args
    attrs = call.attrs
    one, zero = const(1, attrs.dtype), const(0, attrs.dtype)
    hot = op.one_hot(indices, one, zero, attrs.depth, attrs.axis, attrs.dtype)
    return [
        op.zeros_like(indices),
        op.cast_like(op.sum(grad * hot), on_value),
        op.cast_like(op.sum(grad * (one - hot)), off_value),
    ]


def _arange(call: Call, grad: Expr) -> list[Expr]:
    start, stop, step = call.args
    ones = op.ones_like(grad)
    steps = op.cumsum(ones) - ones
    return [
        op.cast_like(op.sum(grad), start),
        op.zeros_like(stop),
        op.cast_like(op.sum(grad * steps), step),
    ]


INDEXING: Mapping[str, Gradient] = {
    "arange": _arange,
    "gather": _gather,
    "gather_nd": _gather_nd,
    "one_hot": _one_hot,
    "take": _take,
}
