"""Layers of networks that slide no window."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter


def _gemm(node: Node) -> Expr:
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if node.integer("transA", 0):
        a = op.transpose(a, axes=(1, 0))
    if not node.integer("transB", 0):
        b = op.transpose(b, axes=(1, 0))  # nn.dense takes (units, inputs)
    product = op.nn.dense(a, b)
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if alpha != 1.0:
        product = op.multiply(product, node.scalar(alpha, product))
    if c is None or beta == 0.0:
        return product
    units = node.dims(product)[1]
    if beta != 1.0:
        c = op.multiply(c, node.scalar(beta, c))
    if node.dims(c) == (units,):
        return op.nn.bias_add(product, c)
    return op.add(product, c)


def _mat_mul(node: Node) -> Expr:
    return product_of(node, node.input(0), node.input(1))


def product_of(node: Node, a: Expr, b: Expr) -> Expr:
    """Return the product of matrices, stacks of them, or vectors, as numpy has it."""
    ranks = node.rank(a), node.rank(b)
    if ranks == (2, 2):
        return op.nn.dense(a, op.transpose(b, axes=(1, 0)))
    if 0 in ranks:
        raise node.fault("expected vectors or matrices, got a scalar")
    if ranks[1] == 2:
        return op.nn.matmul(a, b)
    a = op.expand_dims(a, 0) if ranks[0] == 1 else a
    b = op.expand_dims(b, -1) if ranks[1] == 1 else b
    result = _batches(node, a, b)
    gone = ((-2,) if ranks[0] == 1 else ()) + ((-1,) if ranks[1] == 1 else ())
    return op.squeeze(result, gone) if gone else result


def _batches(node: Node, a: Expr, b: Expr) -> Expr:
    """Return the products of stacks of matrices, which broadcast."""
    if not (node.has_static_shape(a) and node.has_static_shape(b)):
        return _open_batches(node, a, b)
    left, right = node.shape(a), node.shape(b)
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise node.fault(f"shapes {left} and {right} do not broadcast") from None
    if len(batch) == 0:
        return op.nn.matmul(a, b)
    if left[:-2] != batch:
        a = op.broadcast_to(a, (*batch, *left[-2:]))
    if right[:-2] != batch:
        b = op.broadcast_to(b, (*batch, *right[-2:]))
    if len(batch) > 1:
        a = op.reshape(a, (prod(batch), *left[-2:]), allowzero=True)
        b = op.reshape(b, (prod(batch), *right[-2:]), allowzero=True)
    product = op.nn.batch_matmul(a, b, transpose_b=False)
    return op.reshape(product, (*batch, left[-2], right[-1]), allowzero=True)


def _open_batches(node: Node, a: Expr, b: Expr) -> Expr:
    """Return the products of equal stacks, of which nobody knows the lengths yet."""
    left, right = node.dims(a), node.dims(b)
    stacks = left[:-2]
    sizes = [dim if isinstance(dim, int) else -1 for dim in stacks]
    if stacks != right[:-2] or len(stacks) > 2 or sizes.count(-1) > 1:
        node.shape(a)  # says what has to be known
        node.shape(b)
    if len(stacks) == 2:
        a, b = op.reshape(a, (-3, -2)), op.reshape(b, (-3, -2))
    product = op.nn.batch_matmul(a, b, transpose_b=False)
    return op.reshape(product, (-4, *sizes, -2)) if len(stacks) == 2 else product


def _batch_normalization(node: Node) -> Expr | TupleWrapper:
    if node.integer("spatial", 1) != 1:
        raise node.refusal("spatial=0 is not supported")
    momentum = node.number("momentum", 0.9)  # only training uses it
    given = [node.input(index) for index in range(5)]
    epsilon = node.number("epsilon", 1e-5)
    # Since opset 15 the statistics may be of wider floats than the data.
    dtypes = [node.dtype(one) for one in given]
    if len({*dtypes}) > 1:
        wide = "float64" if "float64" in dtypes else "float32"
        given = [op.cast(one, wide) for one in given]
    data, scale, bias, mean, variance = given
    if not node.integer("training_mode", 0):
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


def _lrn(node: Node) -> Expr:
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


def _dropout(node: Node) -> Expr | TupleWrapper:
    rate = node.number("ratio", 0.5)
    node.integer("seed", 0)  # nothing is dropped outside of training
    if node.optional(1) is not None and node.is_known(1):
        rate = node.known_number(1, "ratio")
    if node.optional(2) is not None and node.known_number(2, "training_mode"):
        raise node.refusal("training_mode=True is not supported")
    data = node.input(0)
    result = op.nn.dropout(data, rate)
    if node.output_count == 1:
        return result
    mask = op.ones_like(op.equal(data, data))
    # The mask is one of bools since opset 10; before, of the data's dtype.
    mask = mask if node.opset >= 10 else op.cast(mask, node.dtype(data))
    return TupleWrapper(Tuple((result, mask)), 2)


def _softmax(build: Callable[..., Expr]) -> Converter:
    """Before opset 13, all dimensions from `axis` on are normalised together."""
    return lambda node: _normalised(node, build)


def _normalised(node: Node, build: Callable[..., Expr]) -> Expr:
    data = node.input(0)
    dims = node.dims(data)
    axis = normal_axis(node, node.integer("axis", -1 if node.opset >= 13 else 1), dims)
    if node.opset >= 13 or set(dims[axis + 1 :]) <= {1}:
        return build(data, axis=axis)
    shape = node.shape(data)
    flat = op.reshape(data, (prod(shape[:axis]), prod(shape[axis:])))
    return op.reshape(build(flat, axis=1), shape)


def _instance_normalization(node: Node) -> Expr:
    data, scale, bias = (node.input(index) for index in range(3))
    return op.nn.instance_norm(data, scale, bias, epsilon=node.number("epsilon", 1e-5))


def _layer_normalization(node: Node) -> Expr | TupleWrapper:
    node.integer("stash_type", 1)  # how exact it has to be at least
    data, scale, bias = node.input(0), node.input(1), node.optional(2)
    first = normal_axis(node, node.integer("axis", -1), node.dims(data))
    axes = tuple(range(first, node.rank(data)))
    epsilon = node.scalar(node.number("epsilon", 1e-5), data)
    around, spread = op.mean_variance(data, axes, keepdims=True)
    centred = op.subtract(data, around)
    factor = op.rsqrt(op.add(spread, epsilon))
    result = op.multiply(op.multiply(centred, factor), scale)
    result = result if bias is None else op.add(result, bias)
    if node.output_count == 1:
        return result
    return TupleWrapper(Tuple((result, around, factor)), 3)


def _group_normalization(node: Node) -> Expr:
    """Until opset 20 there is a scale for each group, then one for each channel."""
    node.integer("stash_type", 1)
    data, scale, bias = (node.input(index) for index in range(3))
    groups, (channels,) = node.integer("num_groups", 1), node.lengths(data, [1])
    if node.shape(scale) != (channels,):
        scale = op.repeat(scale, channels // groups, 0)
        bias = op.repeat(bias, channels // groups, 0)
    epsilon = node.number("epsilon", 1e-5)
    return op.nn.group_norm(data, scale, bias, groups, epsilon=epsilon)


def _hardmax(node: Node) -> Expr:
    def hottest(data: Expr, axis: int) -> Expr:
        (depth,), dtype = node.lengths(data, [axis]), node.dtype(data)
        return op.one_hot(op.argmax(data, axis), 1, 0, depth, axis, dtype)

    return _normalised(node, hottest)


def _lp_normalization(node: Node) -> Expr:
    data, p = node.input(0), node.integer("p", 2)
    axis = normal_axis(node, node.integer("axis", -1), node.dims(data))
    if p not in (1, 2):
        raise node.fault(f"expected 1 or 2 for p, got {p}")
    if p == 1:
        length = op.sum(op.abs(data), axis, keepdims=True)
    else:
        length = op.sqrt(op.sum(op.multiply(data, data), axis, keepdims=True))
    # A row of zeros stays one.
    zero = op.equal(length, node.scalar(0, data))
    return op.divide(data, op.where(zero, node.scalar(1, data), length))


def _mean_variance_normalization(node: Node) -> Expr:
    data = node.input(0)
    axes = node.integers("axes") or (0, 2, 3)
    around, spread = op.mean_variance(data, axes, keepdims=True)
    # ONNX defines it with this epsilon, beside the standard deviation.
    deviation = op.add(op.sqrt(spread), node.scalar(1e-9, data))
    return op.divide(op.subtract(data, around), deviation)


def _nll_loss(node: Node) -> Expr:
    return _weighted_loss(node, node.input(0))


def _softmax_loss(node: Node) -> Expr | TupleWrapper:
    logs = op.nn.log_softmax(node.input(0), axis=1)
    loss = _weighted_loss(node, logs)
    return TupleWrapper(Tuple((loss, logs)), 2) if node.output_count > 1 else loss


def _weighted_loss(node: Node, logs: Expr) -> Expr:
    targets, weights = node.input(1), node.optional(2)
    if weights is None:
        (count,) = node.lengths(logs, [1])
        weights = const(np.ones(count, node.dtype(logs)))
    reduction = node.text("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise node.fault(f"reduction is '{reduction}', which ONNX does not know")
    ignored = node.integer("ignore_index", -100)
    return op.nn.nll_loss(logs, targets, weights, reduction, ignored)


def _depth_to_space(node: Node) -> Expr:
    mode = node.text("mode", "DCR")
    return op.nn.depth_to_space(node.input(0), node.integer("blocksize", 0), mode=mode)


def _space_to_depth(node: Node) -> Expr:
    """From opset 28 on, as in DepthToSpace, the channels may come first."""
    data, size = node.input(0), node.integer("blocksize", 0)
    mode = node.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise node.fault(f"mode is '{mode}', which ONNX does not know")
    found = op.nn.space_to_depth(data, size)
    if mode == "DCR":
        return found
    batch, channels, height, width = node.shape(found)
    old = channels // size**2
    apart = op.reshape(found, (batch, size**2, old, height, width))
    joined = op.transpose(apart, (0, 2, 1, 3, 4))
    return op.reshape(joined, (batch, channels, height, width))


def _einsum(node: Node) -> Expr:
    return op.einsum(node.inputs(), node.text("equation", ""))


NEURAL: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "DepthToSpace": _depth_to_space,
    "Dropout": _dropout,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "GroupNormalization": _group_normalization,
    "Hardmax": _hardmax,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _softmax(op.nn.log_softmax),
    "LpNormalization": _lp_normalization,
    "MatMul": _mat_mul,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "NegativeLogLikelihoodLoss": _nll_loss,
    "Softmax": _softmax(op.nn.softmax),
    "SoftmaxCrossEntropyLoss": _softmax_loss,
    "SpaceToDepth": _space_to_depth,
}
