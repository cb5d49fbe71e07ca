"""Dynamic operators: shapes, counts and axes are arguments, known at run time.

TVM has no reductions along dynamic axes; ONNX's reductions need them, since their axes
are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import TypeRelationError
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, TupleWrapper
from parpass.relay.op import reduce
from parpass.relay.op.algorithm import RetType, results_of_topk, topk
from parpass.relay.op.declaration.attributes import DType, Ints, MaybeDType, int_tuple
from parpass.relay.op.declaration.build import (
    DYNAMIC_FORMS,
    INJECTIVE,
    OPAQUE,
    BuilderT,
)
from parpass.relay.op.declaration.type_relations import (
    normal_axis,
    require_dtype,
    require_integer,
    require_number,
    require_rank,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.dyn.counterpart import UNKNOWN, dynamic, length
from parpass.relay.op.nn.padding import PadMode, pad
from parpass.relay.op.tensor.create import full
from parpass.relay.op.transform.indexing import one_hot
from parpass.relay.op.transform.reshaping import reshape
from parpass.relay.op.transform.scatter import sparse_to_dense
from parpass.relay.op.transform.select import SliceMode, strided_slice, tile
from parpass.relay.op.transform.shape import broadcast_to, expand_dims, squeeze


class DynReshapeAttrs(Attrs, frozen=True):
    """Attributes of `dyn.reshape`."""

    allowzero: bool = False


def _reshape_relation(types: Sequence[Type], _attrs: DynReshapeAttrs) -> TensorType:
    data, newshape = tensors(types)
    return TensorType((UNKNOWN,) * length(newshape, "the new shape"), data.dtype)


def _of_known_rank(data: Expr, newshape: Ints, allowzero: bool) -> Call:
    dims = int_tuple(newshape, "newshape")
    if -2 in dims or -4 in dims:
        raise IRTypeError(f"expected no -2 or -4, which change the rank, got {dims}")
    return reshape(data, dims, allowzero)


@dynamic("dyn.reshape", _of_known_rank, _reshape_relation, DynReshapeAttrs)
def dyn_reshape(data: Expr, newshape: Expr, allowzero: bool = False) -> Call:
    """Arrange the elements in another shape, as `reshape` does without -2 and -4."""
    ...


def _squeeze_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, axes = tensors(types)
    rank = len(data.shape) - length(axes, "the axes")
    if rank < 0:
        raise TypeRelationError(f"expected up to {len(data.shape)} axes, got {axes}")
    return TensorType((UNKNOWN,) * rank, data.dtype)


@dynamic("dyn.squeeze", squeeze, _squeeze_relation)
def dyn_squeeze(data: Expr, axes: Expr) -> Call:
    """Remove the named dimensions of length 1."""
    ...


class DynExpandDimsAttrs(Attrs, frozen=True):
    """Attributes of `dyn.expand_dims`."""

    num_newaxis: int = 1


def _expand_dims_relation(
    types: Sequence[Type], attrs: DynExpandDimsAttrs
) -> TensorType:
    data, axis = tensors(types)
    require_rank(axis, 0, "the axis")
    return TensorType((UNKNOWN,) * (len(data.shape) + attrs.num_newaxis), data.dtype)


@dynamic(
    "dyn.expand_dims",
    expand_dims,
    _expand_dims_relation,
    DynExpandDimsAttrs,
    pattern=INJECTIVE,
)
def dyn_expand_dims(data: Expr, axis: Expr, num_newaxis: int = 1) -> Call:
    """Insert dimensions of length 1 before an axis."""
    ...


def _broadcast_to_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, wanted = tensors(types)
    return TensorType((UNKNOWN,) * length(wanted, "the shape"), data.dtype)


@dynamic("dyn.broadcast_to", broadcast_to, _broadcast_to_relation)
def dyn_broadcast_to(data: Expr, shape: Expr) -> Call:
    """Repeat dimensions of length 1 to fill a shape."""
    ...


def _tile_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, reps = tensors(types)
    rank = max(len(data.shape), length(reps, "the repetitions"))
    return TensorType((UNKNOWN,) * rank, data.dtype)


@dynamic("dyn.tile", tile, _tile_relation, pattern=INJECTIVE)
def dyn_tile(data: Expr, reps: Expr) -> Call:
    """Repeat the whole tensor along each of its last axes."""
    ...


class DynFullAttrs(Attrs, frozen=True):
    """Attributes of `dyn.full`; an empty dtype means the value's."""

    dtype: MaybeDType = ""


def _full_relation(types: Sequence[Type], attrs: DynFullAttrs) -> TensorType:
    value, wanted = tensors(types)
    require_rank(value, 0, "the fill value")
    dims = (UNKNOWN,) * length(wanted, "the shape")
    return TensorType(dims, attrs.dtype or value.dtype)


@dynamic("dyn.full", full, _full_relation, DynFullAttrs)
def dyn_full(fill_value: Operand, shape: Expr, dtype: str = "") -> Call:
    """Return a tensor of one value; without a dtype it has the value's."""
    ...


DYNAMIC_FORMS["zeros"] = lambda values: dyn_full(0, *values)
DYNAMIC_FORMS["ones"] = lambda values: dyn_full(1, *values)


def _sparse_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    indices, wanted, values, default = tensors(types)
    require_integer(indices, "the indices")
    require_rank(default, 0, "the default value")
    dims = (UNKNOWN,) * length(wanted, "the output shape")
    return TensorType(dims, values.dtype)


@dynamic("dyn.sparse_to_dense", sparse_to_dense, _sparse_relation)
def dyn_sparse_to_dense(
    sparse_indices: Expr,
    output_shape: Expr,
    sparse_values: Expr,
    default_value: Operand = 0,
) -> Call:
    """Put values at indices, a default elsewhere."""
    ...


class DynPadAttrs(Attrs, frozen=True):
    """Attributes of `dyn.nn.pad`."""

    pad_mode: PadMode = "constant"


def _pad_relation(types: Sequence[Type], _attrs: DynPadAttrs) -> TensorType:
    data, widths, value = tensors(types)
    require_rank(widths, 2, "the widths")
    require_rank(value, 0, "the pad value")
    return TensorType((UNKNOWN,) * len(data.shape), data.dtype)


@dynamic("dyn.nn.pad", pad, _pad_relation, DynPadAttrs)
def dyn_pad(
    data: Expr, pad_width: Expr, pad_value: Operand = 0, pad_mode: str = "constant"
) -> Call:
    """Add elements before and after those of each axis; a row of widths for each."""
    ...


class DynStridedSliceAttrs(Attrs, frozen=True):
    """Attributes of `dyn.strided_slice`."""

    slice_mode: SliceMode = "end"


def _slice_relation(types: Sequence[Type], _attrs: DynStridedSliceAttrs) -> TensorType:
    data, *bounds = tensors(types)
    counts = [length(one, "a bound") for one in bounds]
    count = max(counts)
    if count > len(data.shape):
        raise TypeRelationError(
            f"expected bounds and strides of up to {len(data.shape)} axes, got "
            f"{', '.join(map(str, bounds))}"
        )
    return TensorType((*(UNKNOWN,) * count, *data.shape[count:]), data.dtype)


@dynamic("dyn.strided_slice", strided_slice, _slice_relation, DynStridedSliceAttrs)
def dyn_strided_slice(
    data: Expr, begin: Expr, end: Expr, strides: Expr, slice_mode: str = "end"
) -> Call:
    """Pick a range with a stride along each of the first axes.

    Missing begins mean the front, missing ends the back, and missing strides 1.
    """
    ...


class DynTopKAttrs(Attrs, frozen=True):
    """Attributes of `dyn.topk`."""

    axis: int = -1
    ret_type: RetType = "both"
    is_ascend: bool = False
    dtype: DType = "int32"


def _topk_relation(types: Sequence[Type], attrs: DynTopKAttrs) -> Type:
    data, k = tensors(types)
    require_number(data)
    require_integer(k, "k")
    axis = normal_axis(attrs.axis, len(data.shape))
    shape = (*data.shape[:axis], UNKNOWN, *data.shape[axis + 1 :])
    values, indices = TensorType(shape, data.dtype), TensorType(shape, attrs.dtype)
    if attrs.ret_type == "both":
        return TupleType((values, indices))
    return values if attrs.ret_type == "values" else indices


@dynamic("dyn.topk", topk, _topk_relation, DynTopKAttrs, results=results_of_topk)
def dyn_topk(
    data: Expr,
    k: Expr,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Call | TupleWrapper:
    """Return the largest or smallest elements along an axis, and their indices."""
    ...


class DynOneHotAttrs(Attrs, frozen=True):
    """Attributes of `dyn.one_hot`; the axis -1 is a new last one."""

    axis: int = -1
    dtype: DType = "float32"


def _one_hot_relation(types: Sequence[Type], attrs: DynOneHotAttrs) -> TensorType:
    indices, on, off, depth = tensors(types)
    require_integer(indices, "the indices")
    require_integer(depth, "the depth")
    require_same_dtype((on, off))
    for value in (on, off):
        require_rank(value, 0, "a value")
    axis = normal_axis(attrs.axis, len(indices.shape) + 1)
    dims = (*indices.shape[:axis], UNKNOWN, *indices.shape[axis:])
    return TensorType(dims, attrs.dtype)


@dynamic("dyn.one_hot", one_hot, _one_hot_relation, DynOneHotAttrs)
def dyn_one_hot(
    indices: Expr,
    on_value: Operand,
    off_value: Operand,
    depth: Expr,
    axis: int = -1,
    dtype: str = "float32",
) -> Call:
    """Return `on_value` where the position along a new axis is the index."""
    ...


class DynReduceAttrs(Attrs, frozen=True):
    """Attributes of reductions along axes that are an argument.

    Attributes:
        keepdims: Whether the reduced axes stay, with length 1.
    """

    keepdims: bool = False


def _along(data: Expr, axis: Expr, keepdims: bool = False) -> Call:
    """Build a call of a reduction."""
    ...


def _dynamic(
    static: Callable[..., Call], *, is_logical: bool = False
) -> Callable[[BuilderT], BuilderT]:

    def relation(types: Sequence[Type], attrs: DynReduceAttrs) -> TensorType:
        data, axes = tensors(types)
        if is_logical:
            require_dtype(data, "bool")
        else:
            require_number(data)
        rank, gone = len(data.shape), length(axes, "the axes")
        if gone > rank:
            raise TypeRelationError(f"expected up to {rank} axes, got {axes}")
        if attrs.keepdims:
            dims = tuple(1 if dim == 1 else UNKNOWN for dim in data.shape)
            return TensorType(dims if gone < rank else (1,) * rank, data.dtype)
        return TensorType((UNKNOWN,) * (rank - gone), data.dtype)

    return dynamic(
        f"dyn.{static.__name__}",
        static,
        relation,
        DynReduceAttrs,
        doc=static.__doc__ or "",
        pattern=OPAQUE,
    )


dyn_sum = _dynamic(reduce.sum)(_along)
dyn_mean = _dynamic(reduce.mean)(_along)
dyn_max = _dynamic(reduce.max)(_along)
dyn_min = _dynamic(reduce.min)(_along)
dyn_prod = _dynamic(reduce.prod)(_along)
dyn_all = _dynamic(reduce.all, is_logical=True)(_along)
dyn_any = _dynamic(reduce.any, is_logical=True)(_along)
