"""Layers of networks that slide no window, and losses."""

from __future__ import annotations

from math import prod

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.runtime.dtypes import computed_in, is_float_dtype


def _gemm(node: OnnxNode) -> Expr:
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if node.integer("transA", 0):
        a = op.transpose(a, axes=(1, 0))
    if not node.integer("transB", 0):
        b = op.transpose(b, axes=(1, 0))  # nn.dense takes (units, inputs)
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    dtype = node.dtype(a)
    # Narrow floats are rounded behind the sum, not before; see `in_wide_floats`.
    wide = computed_in(dtype) if is_float_dtype(dtype) else dtype
    product = op.nn.dense(a, b, out_dtype="" if wide == dtype else wide)
    if alpha != 1.0:
        product = op.multiply(product, node.scalar(alpha, product))
    if c is not None and beta != 0.0:
        c = c if wide == dtype else op.cast(c, wide)
        product = _with_addend(node, product, c, beta)
    return product if wide == dtype else op.cast(product, dtype)


def _with_addend(node: OnnxNode, product: Expr, c: Expr, beta: float) -> Expr:
    units = node.dims(product)[1]
    if beta != 1.0:
        c = op.multiply(c, node.scalar(beta, c))
    if node.dims(c) == (units,):
        return op.nn.bias_add(product, c)
    return op.add(product, c)


def product_of(node: OnnxNode, a: Expr, b: Expr, out_dtype: str = "") -> Expr:
    """Return the product of matrices, stacks of them, or vectors, as numpy has it.

    Args:
        node: The node.
        a: The first factor.
        b: The second one.
        out_dtype: The dtype of the product; empty for that of the factors.
    """
    ranks = node.rank(a), node.rank(b)
    if 0 in ranks:
        raise node.fault("expected vectors or matrices, got a scalar")
    # The kernel for ints of 16 bits takes rows times rows.
    if ranks == (2, 2) or (ranks[1] == 2 and out_dtype):
        return op.nn.dense(a, op.transpose(b, axes=(1, 0)), out_dtype=out_dtype)
    if ranks[1] == 2:
        return op.nn.matmul(a, b)
    a = op.expand_dims(a, 0) if ranks[0] == 1 else a
    b = op.expand_dims(b, -1) if ranks[1] == 1 else b
    result = _batches(node, a, b, out_dtype)
    gone = ((-2,) if ranks[0] == 1 else ()) + ((-1,) if ranks[1] == 1 else ())
    return op.squeeze(result, gone) if gone else result


def _batches(node: OnnxNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """Return the products of stacks of matrices, which broadcast."""
    if not (node.has_static_shape(a) and node.has_static_shape(b)):
        return _open_batches(node, a, b, out_dtype)
    left, right = node.shape(a), node.shape(b)
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise node.fault(f"shapes {left} and {right} do not broadcast") from None
    if len(batch) == 0:
        return op.nn.matmul(a, b, out_dtype=out_dtype)
    if left[:-2] != batch:
        a = op.broadcast_to(a, (*batch, *left[-2:]))
    if right[:-2] != batch:
        b = op.broadcast_to(b, (*batch, *right[-2:]))
    if len(batch) > 1:
        a = op.reshape(a, (prod(batch), *left[-2:]), allowzero=True)
        b = op.reshape(b, (prod(batch), *right[-2:]), allowzero=True)
    product = op.nn.batch_matmul(a, b, out_dtype, transpose_b=False)
    return op.reshape(product, (*batch, left[-2], right[-1]), allowzero=True)


def _open_batches(node: OnnxNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """Return the products of equal stacks whose lengths are not known yet."""
    left, right = node.dims(a), node.dims(b)
    stacks = left[:-2]
    sizes = [dim if isinstance(dim, int) else -1 for dim in stacks]
    if stacks != right[:-2] or len(stacks) > 2 or sizes.count(-1) > 1:
        node.shape(a)  # says what has to be known
        node.shape(b)
    if len(stacks) == 2:
        a, b = op.reshape(a, (-3, -2)), op.reshape(b, (-3, -2))
    product = op.nn.batch_matmul(a, b, out_dtype, transpose_b=False)
    return op.reshape(product, (-4, *sizes, -2)) if len(stacks) == 2 else product


def _dropout(node: OnnxNode) -> Expr | TupleWrapper:
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


def _nll_loss(node: OnnxNode) -> Expr:
    return _weighted_loss(node, node.input(0))


def _softmax_loss(node: OnnxNode) -> Expr | TupleWrapper:
    logs = op.nn.log_softmax(node.input(0), axis=1)
    loss = _weighted_loss(node, logs)
    return TupleWrapper(Tuple((loss, logs)), 2) if node.output_count > 1 else loss


def _weighted_loss(node: OnnxNode, logs: Expr) -> Expr:
    targets, weights = node.input(1), node.optional(2)
    if weights is None:
        (count,) = node.lengths(logs, [1])
        weights = const(np.ones(count, node.dtype(logs)))
    reduction = node.text("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise node.fault(f"reduction is '{reduction}', which ONNX does not know")
    ignored = node.integer("ignore_index", -100)
    return op.nn.nll_loss(logs, targets, weights, reduction, ignored)


def _depth_to_space(node: OnnxNode) -> Expr:
    mode = node.text("mode", "DCR")
    return op.nn.depth_to_space(node.input(0), node.integer("blocksize", 0), mode=mode)


def _space_to_depth(node: OnnxNode) -> Expr:
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


def _einsum(node: OnnxNode) -> Expr:
    return op.einsum(node.inputs(), node.text("equation", ""))


NEURAL: dict[str, Converter] = {
    "DepthToSpace": _depth_to_space,
    "Dropout": _dropout,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "NegativeLogLikelihoodLoss": _nll_loss,
    "SoftmaxCrossEntropyLoss": _softmax_loss,
    "SpaceToDepth": _space_to_depth,
}
