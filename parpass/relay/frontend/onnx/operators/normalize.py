"""Layers that normalise: to a mean and a variance, to a length, or to a sum of 1."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.elementwise import in_wide_floats
from parpass.runtime.dtypes import computed_in


def _batch_normalization(node: OnnxNode) -> Expr | TupleWrapper:
    if node.integer("spatial", 1) != 1:
        raise node.refusal("spatial=0 is not supported")
    momentum = node.number("momentum", 0.9)  # only training uses it
    given = [node.input(index) for index in range(5)]
    epsilon = node.number("epsilon", 1e-5)
    # Since opset 15 the statistics may be of wider floats than the data.
    dtypes = [node.dtype(one) for one in given]
    is_training = node.integer("training_mode", 0) != 0
    if len({*dtypes}) > 1 or (is_training and computed_in(dtypes[0]) != dtypes[0]):
        wide = "float64" if "float64" in dtypes else "float32"
        given = [op.cast(one, wide) for one in given]
    data, scale, bias, mean, variance = given
    if not is_training:
        found = op.nn.batch_norm(data, scale, bias, mean, variance, epsilon=epsilon)[0]
        return op.cast(found, dtypes[0]) if len({*dtypes}) > 1 else found
    axes = tuple(at for at in range(node.rank(data)) if at != 1)
    around, spread = op.mean_variance(data, axes)
    found = op.nn.batch_norm(data, scale, bias, around, spread, epsilon=epsilon)[0]
    part = node.scalar(momentum, mean), node.scalar(1 - momentum, mean)
    running = [
        op.add(op.multiply(old, part[0]), op.multiply(new, part[1]))
        for old, new in ((mean, around), (variance, spread))
    ]
    pairs = zip((found, *running), (dtypes[0], *dtypes[3:]), strict=True)
    fields = [op.cast(one, dtype) for one, dtype in pairs]
    return TupleWrapper(Tuple(tuple(fields)), 3)


def _lrn(node: OnnxNode) -> Expr:
    size = node.integer("size", 0)
    if size < 1 or size % 2 == 0:
        raise node.refusal(f"expected an odd size from 1 up, got {size}")
    return op.nn.lrn(
        node.input(0),
        size=size,
        axis=1,
        bias=node.number("bias", 1.0),
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
    )


def _softmax(build: Callable[..., Expr]) -> Converter:
    """Before opset 13, all dimensions from `axis` on are normalised together."""
    return lambda node: _normalised(node, build)


def _normalised(node: OnnxNode, build: Callable[..., Expr]) -> Expr:
    data = node.input(0)
    dims = node.dims(data)
    axis = normal_axis(node, node.integer("axis", -1 if node.opset >= 13 else 1), dims)
    if node.opset >= 13 or set(dims[axis + 1 :]) <= {1}:
        return build(data, axis=axis)
    shape = node.shape(data)
    flat = op.reshape(data, (prod(shape[:axis]), prod(shape[axis:])))
    return op.reshape(build(flat, axis=1), shape)


def _instance_normalization(node: OnnxNode) -> Expr:
    data, scale, bias = (node.input(index) for index in range(3))
    return op.nn.instance_norm(data, scale, bias, epsilon=node.number("epsilon", 1e-5))


def _layer_normalization(node: OnnxNode) -> Expr | TupleWrapper:
    node.integer("stash_type", 1)  # how exact it has to be at least
    data, scale, bias = node.input(0), node.input(1), node.optional(2)
    dtype = node.dtype(data)
    # Mean and factor have the dtype that it is computed in.
    wide = computed_in(dtype)
    if wide != dtype:
        data, scale = op.cast(data, wide), op.cast(scale, wide)
        bias = None if bias is None else op.cast(bias, wide)
    first = normal_axis(node, node.integer("axis", -1), node.dims(data))
    axes = tuple(range(first, node.rank(data)))
    epsilon = node.scalar(node.number("epsilon", 1e-5), data)
    around, spread = op.mean_variance(data, axes, keepdims=True)
    centred = op.subtract(data, around)
    factor = op.rsqrt(op.add(spread, epsilon))
    result = op.multiply(op.multiply(centred, factor), scale)
    result = result if bias is None else op.add(result, bias)
    result = result if wide == dtype else op.cast(result, dtype)
    if node.output_count == 1:
        return result
    return TupleWrapper(Tuple((result, around, factor)), 3)


def _group_normalization(node: OnnxNode) -> Expr:
    """Until opset 20 there is a scale for each group, then one for each channel."""
    node.integer("stash_type", 1)
    data, scale, bias = (node.input(index) for index in range(3))
    groups, (channels,) = node.integer("num_groups", 1), node.lengths(data, [1])
    if node.shape(scale) != (channels,):
        scale = op.repeat(scale, channels // groups, 0)
        bias = op.repeat(bias, channels // groups, 0)
    epsilon = node.number("epsilon", 1e-5)
    return op.nn.group_norm(data, scale, bias, groups, epsilon=epsilon)


def _hardmax(node: OnnxNode) -> Expr:
    def hottest(data: Expr, axis: int) -> Expr:
        (depth,), dtype = node.lengths(data, [axis]), node.dtype(data)
        return op.one_hot(op.argmax(data, axis), 1, 0, depth, axis, dtype)

    return _normalised(node, hottest)


def _lp_normalization(node: OnnxNode) -> Expr:
    data, p = node.input(0), node.integer("p", 2)
    axis = normal_axis(node, node.integer("axis", -1), node.dims(data))
    if p not in (1, 2):
        raise node.fault(f"expected 1 or 2 for p, got {p}")

    def quotient(data: Expr) -> Expr:
        if p == 1:
            length = op.sum(op.abs(data), axis, keepdims=True)
        else:
            length = op.sqrt(op.sum(op.multiply(data, data), axis, keepdims=True))
        # A row of zeros stays one.
        zero = op.equal(length, node.scalar(0, data))
        return op.divide(data, op.where(zero, node.scalar(1, data), length))

    return in_wide_floats(node, quotient, data)


def _mean_variance_normalization(node: OnnxNode) -> Expr:
    axes = node.integers("axes") or (0, 2, 3)

    def quotient(data: Expr) -> Expr:
        around, spread = op.mean_variance(data, axes, keepdims=True)
        # ONNX defines it with this epsilon, beside the standard deviation.
        deviation = op.add(op.sqrt(spread), node.scalar(1e-9, data))
        return op.divide(op.subtract(data, around), deviation)

    return in_wide_floats(node, quotient, node.input(0))


NORMALIZE: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "Hardmax": _hardmax,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _softmax(op.nn.log_softmax),
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "Softmax": _softmax(op.nn.softmax),
}
