"""Gradients of operators that arrange, sum or multiply whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from parpass.ir.types.ty import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr, Tuple
from parpass.relay.op import nn
from parpass.relay.op.declaration.relations import normal_axes
from parpass.relay.op.transform.select import slices_of
from parpass.relay.transform.differentiation.pointwise_gradients import (
    Gradient,
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


def _mean(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    ones = op.sum(op.ones_like(data), _axes(call), call.attrs.keepdims)
    return [_spread(call, grad / ones)]


def _variance(call: Call, grad: Expr) -> list[Expr]:
    data, around = call.args
    attrs = call.attrs
    ones = op.sum(op.ones_like(data), _axes(call), attrs.keepdims)
    count = ones - number(1.0, data) if attrs.unbiased else ones
    away = _spread(call, grad * number(2.0, data) / count) * (data - around)
    return [away, op.collapse_sum_like(op.negative(away), around)]


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

    def product(a: Expr, b: Expr, ta: bool, tb: bool) -> Expr:
        return nn.batch_matmul(a, b, transpose_a=ta, transpose_b=tb)

    left = product(y, grad, is_y, True) if is_x else product(grad, y, False, not is_y)
    right = product(grad, x, True, is_x) if is_y else product(x, grad, not is_x, False)
    return [op.collapse_sum_like(left, x), op.collapse_sum_like(right, y)]


def _softmax(call: Call, grad: Expr) -> list[Expr]:
    total = op.sum(grad * call, call.attrs.axis, keepdims=True)
    return [(grad - total) * call]


def _log_softmax(call: Call, grad: Expr) -> list[Expr]:
    total = op.sum(grad, call.attrs.axis, keepdims=True)
    return [grad - total * op.exp(call)]


def _cross_entropy(derivative: Callable[[Expr, Expr], list[Expr]]) -> Gradient:
    def gradient(call: Call, grad: Expr) -> list[Expr]:
        x, y = call.args
        batch = number(cast("TensorType", x.checked_type).concrete_shape[0], x)
        return [op.negative(grad * one) / batch for one in derivative(x, y)]

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
