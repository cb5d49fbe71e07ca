"""Matrix products, bias and `batch_flatten`; products of matrix stacks by BLAS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import MaybeDType
from parpass.relay.op.declaration.build import (
    BROADCAST,
    INJECTIVE,
    OUT_ELEMWISE_FUSABLE,
    operator,
)
from parpass.relay.op.declaration.type_relations import (
    Shape,
    agree,
    broadcast_shape,
    normal_axis,
    product,
    require_number,
    require_rank,
    require_same_dtype,
    require_shape,
    require_vectors,
    tensors,
    vectors_along_axis,
)
from parpass.runtime.dtypes import computed_in, converted, numpy_dtype

__all__ = ["batch_flatten", "batch_matmul", "bias_add", "dense", "matmul"]


def matrix_product(lhs: Array, rhs: Array, out_dtype: str = "") -> Array:
    """Return the products of stacks of matrices, computed in the dtype of the result.

    It uses BLAS, also where an operand has zero strides.

    Args:
        lhs: Stacked matrices.
        rhs: As many, or one for all.
        out_dtype: The dtype of the result; empty for the left operand's.
    """
    wanted = numpy_dtype(out_dtype) if out_dtype else lhs.dtype
    working = numpy_dtype(computed_in(wanted.name))
    lhs, rhs = converted(lhs, working), converted(rhs, working)
    return (_for_blas(lhs) @ _for_blas(rhs)).astype(wanted, copy=False)


def _for_blas(array: Array) -> Array:
    return array if all(array.strides) else np.ascontiguousarray(array)


def along(axis: int, vector: Array, data: Array) -> Array:
    """Return a vector reshaped to broadcast along an axis of the data."""
    return vector.reshape(-1, *(1,) * (data.ndim - 1 - normal_axis(axis, data.ndim)))


def _require_factors(lhs: TensorType, rhs: TensorType, out_dtype: str) -> None:
    # As in TVM, both become `out_dtype` first, such as int32 for uint8 and int8.
    if not out_dtype:
        require_same_dtype((lhs, rhs))
    require_number(lhs)
    require_number(rhs)


class DenseAttrs(Attrs, frozen=True):
    """Attributes of `nn.dense`.

    Attributes:
        units: The rows of the weight; None for those of its type.
        out_dtype: Empty for the data's dtype.
    """

    units: int | None = None
    out_dtype: MaybeDType = ""


def _dense_relation(types: Sequence[Type], attrs: DenseAttrs) -> TensorType:
    data, weight = tensors(types)
    if not data.shape:
        raise TypeRelationError(
            f"expected one dimension or more for the data, got {data}"
        )
    require_rank(weight, 2, "the weight")
    _require_factors(data, weight, attrs.out_dtype)
    units = weight.shape[0] if attrs.units is None else attrs.units
    require_shape(weight, (units, data.shape[-1]), "the weight")
    return TensorType((*data.shape[:-1], units), attrs.out_dtype or data.dtype)


def _dense_arguments(
    types: Sequence[Type | None], attrs: DenseAttrs
) -> Sequence[Type | None]:
    data, weight = types
    if not isinstance(data, TensorType) or not data.shape or attrs.units is None:
        return types
    return data, weight or TensorType((attrs.units, data.shape[-1]), data.dtype)


def _dense(attrs: DenseAttrs, data: Array, weight: Array) -> Array:
    return matrix_product(data, weight.T, attrs.out_dtype)


@operator(
    "nn.dense",
    _dense_relation,
    _dense,
    DenseAttrs,
    pattern=OUT_ELEMWISE_FUSABLE,
    argument_types=_dense_arguments,
)
def dense(
    data: Expr, weight: Expr, units: int | None = None, out_dtype: str = ""
) -> Call:
    """Return `data @ transpose(weight)`; the weight has a row for each unit."""
    ...


class MatmulAttrs(Attrs, frozen=True):
    """Attributes of `nn.matmul`; see `DenseAttrs`."""

    units: int | None = None
    out_dtype: MaybeDType = ""
    transpose_a: bool = False
    transpose_b: bool = False


def _matmul_relation(types: Sequence[Type], attrs: MatmulAttrs) -> TensorType:
    a, b = tensors(types)
    if not a.shape or (attrs.transpose_a and len(a.shape) < 2):
        raise TypeRelationError(f"expected a matrix for tensor_a, got {a}")
    require_rank(b, 2, "tensor_b")
    _require_factors(a, b, attrs.out_dtype)
    rows, inner = _rows_and_inner(a, attrs)
    units = b.shape[0] if attrs.transpose_b else b.shape[1]
    units = units if attrs.units is None else attrs.units
    require_shape(b, _factor(inner, units, attrs), "tensor_b")
    return TensorType((*rows, units), attrs.out_dtype or a.dtype)


def _rows_and_inner(a: TensorType, attrs: MatmulAttrs) -> tuple[Shape, Dim]:
    if attrs.transpose_a:
        return (*a.shape[:-2], a.shape[-1]), a.shape[-2]
    return a.shape[:-1], a.shape[-1]


def _factor(inner: Dim, units: Dim, attrs: MatmulAttrs) -> Shape:
    """Return the shape of the second factor."""
    return (units, inner) if attrs.transpose_b else (inner, units)


def _matmul_arguments(
    types: Sequence[Type | None], attrs: MatmulAttrs
) -> Sequence[Type | None]:
    a, b = types
    if not isinstance(a, TensorType) or len(a.shape) < 2 or attrs.units is None:
        return types
    _, inner = _rows_and_inner(a, attrs)
    return a, b or TensorType(_factor(inner, attrs.units, attrs), a.dtype)


def _matmul(attrs: MatmulAttrs, a: Array, b: Array) -> Array:
    a = a.swapaxes(-1, -2) if attrs.transpose_a else a
    return matrix_product(a, b.T if attrs.transpose_b else b, attrs.out_dtype)


@operator(
    "nn.matmul",
    _matmul_relation,
    _matmul,
    MatmulAttrs,
    pattern=OUT_ELEMWISE_FUSABLE,
    argument_types=_matmul_arguments,
)
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """Return the matrix product, with each operand transposed first if requested."""
    ...


class BatchMatmulAttrs(Attrs, frozen=True):
    """Attributes of `nn.batch_matmul`; an empty dtype means the operands'."""

    out_dtype: MaybeDType = ""
    transpose_a: bool = False
    transpose_b: bool = True


def _batch_matmul_relation(
    types: Sequence[Type], attrs: BatchMatmulAttrs
) -> TensorType:
    a, b = tensors(types)
    require_rank(a, 3, "tensor_a")
    require_rank(b, 3, "tensor_b")
    _require_factors(a, b, attrs.out_dtype)
    rows, inner = a.shape[:0:-1] if attrs.transpose_a else a.shape[1:]
    inner_b, columns = b.shape[:0:-1] if attrs.transpose_b else b.shape[1:]
    if not agree(inner, inner_b):
        raise TypeRelationError(
            f"expected inner dimensions that are equal, got {inner} and {inner_b}"
        )
    batch = broadcast_shape(a.shape[:1], b.shape[:1])
    return TensorType((*batch, rows, columns), attrs.out_dtype or a.dtype)


def _batch_matmul(attrs: BatchMatmulAttrs, a: Array, b: Array) -> Array:
    a = a.transpose(0, 2, 1) if attrs.transpose_a else a
    b = b.transpose(0, 2, 1) if attrs.transpose_b else b
    return matrix_product(a, b, attrs.out_dtype)


@operator(
    "nn.batch_matmul",
    _batch_matmul_relation,
    _batch_matmul,
    BatchMatmulAttrs,
    pattern=OUT_ELEMWISE_FUSABLE,
)
def batch_matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Call:
    """Return the matrix product for each matrix of two batches."""
    ...


class BiasAddAttrs(Attrs, frozen=True):
    """Attributes of `nn.bias_add`."""

    axis: int = 1


def _bias_add_relation(types: Sequence[Type], attrs: BiasAddAttrs) -> TensorType:
    args = tensors(types)
    require_vectors(args, attrs, "the bias")
    require_number(args[0])
    return args[0]


def _bias_add(attrs: BiasAddAttrs, data: Array, bias: Array) -> Array:
    return data + along(attrs.axis, bias, data)


@operator(
    "nn.bias_add",
    _bias_add_relation,
    _bias_add,
    BiasAddAttrs,
    pattern=BROADCAST,
    argument_types=vectors_along_axis,
)
def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call:
    """Add a vector along an axis."""
    ...


def _batch_flatten_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    (data,) = tensors(types)
    if not data.shape:
        raise TypeRelationError(f"expected one dimension or more, got {data}")
    return TensorType((data.shape[0], product(data.shape[1:])), data.dtype)


def _batch_flatten(_attrs: None, data: Array) -> Array:
    return data.reshape(data.shape[0], int(np.prod(data.shape[1:])))


@operator(
    "nn.batch_flatten", _batch_flatten_relation, _batch_flatten, pattern=INJECTIVE
)
def batch_flatten(data: Expr) -> Call:
    """Join all dimensions but the first."""
    ...
