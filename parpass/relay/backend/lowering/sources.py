"""The sources of kernels: parameters and constants, as rules access them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.backend.lowering.loops import index_dtype
from parpass.relay.backend.lowering.rule_registry import Indices, NoRuleError, Source
from parpass.relay.expr import Constant
from parpass.runtime.dtypes import computed_in
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.expr import Buffer, BufferLoad, IntImm, PrimExpr, decl_buffer

_DTYPES = {
    *("bool", "float16", "bfloat16", "float32", "float64"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
}
_HALVES = {"f16c", "fullfp16", "neon"}  # one of these float16 needs of a machine


def widened(op_: Op, sources: list[Source]) -> tuple[list[Source], bool]:
    """Return operands as the operator computes them, and whether some are wider now.

    The same is said of values in `relay.interpreter.op_value`.
    """
    if op_.moves:
        return sources, False
    new = [in_dtype(one, computed_in(one.dtype)) for one in sources]
    return new, any(one is not old for one, old in zip(new, sources, strict=True))


def in_dtype(source: Source, dtype: str) -> Source:
    """Return an operand whose elements are cast to a dtype."""
    if dtype == source.dtype:
        return source

    def at(indices: Indices) -> PrimExpr:
        return op.cast_to(source.at(indices), dtype)

    return Source(source.shape, dtype, at)


def fields_of(type_: Type) -> Sequence[Type]:
    """Return the types of a tuple's fields; of another value its own."""
    return type_.fields if isinstance(type_, TupleType) else (type_,)


def tensor_type(type_: Type, target: Target) -> TensorType:
    """Return a type that values of a kernel may have.

    Raises:
        NoRuleError: They may not have this one.
    """
    if not isinstance(type_, TensorType):
        raise NoRuleError(f"a value of type {type_}")
    if not all(isinstance(dim, int) for dim in type_.shape):
        raise NoRuleError(f"a shape that is not known: {type_}")
    if type_.dtype not in _DTYPES:
        raise NoRuleError(f"values of {type_.dtype}")
    if type_.dtype == "float16" and not _HALVES & {*target.features()}:
        raise NoRuleError("values of float16, for which the target has no feature")
    return type_


def parameter(type_: TensorType, name: str) -> Buffer:
    """Return a buffer for a tensor of a type."""
    dtype = index_dtype(type_.concrete_shape)
    dims = [IntImm(dtype, dim) for dim in type_.concrete_shape]
    return decl_buffer(dims, type_.dtype, name)


def loaded(buffer: Buffer) -> Source:
    """Return a buffer as what rules read."""
    shape = tuple(dim.value for dim in buffer.shape if isinstance(dim, IntImm))

    def at(indices: Indices) -> PrimExpr:
        return BufferLoad(buffer, indices)

    return Source(shape, buffer.dtype, at, buffer)


def remembered(
    compute: Callable[[Indices], PrimExpr], when: Callable[[], int]
) -> Callable[[Indices], PrimExpr]:
    """Return a function that gives the same expression at the same indices.

    Args:
        compute: Gives the expression.
        when: Tells from when it is; what was before is forgotten.
    """
    known: dict[tuple[int, ...], tuple[tuple[PrimExpr, ...], PrimExpr]] = {}

    def at(indices: Indices) -> PrimExpr:
        places = [one.value if isinstance(one, IntImm) else id(one) for one in indices]
        key = (when(), *places)
        if key not in known:
            known[key] = tuple(indices), compute(indices)  # so ids stay theirs
        return known[key][1]

    return at


def scalar(constant: Constant) -> Source:
    """Return a scalar constant as what rules read.

    Raises:
        NoRuleError: It is none: what is larger is for fusion to make a parameter of.
    """
    value = constant.data.numpy()
    if value.ndim:
        raise NoRuleError(f"a constant of shape {value.shape} within a kernel")
    imm = op.const(value.item(), value.dtype.name)

    def at(_indices: Indices) -> PrimExpr:
        return imm

    return Source((), value.dtype.name, at)
