"""Operators on the elements of two or three tensors, which broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from parpass.ir.operators.op_table import Array, TypeRelationFn
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Operand
from parpass.relay.op.declaration.build import BROADCAST, operator
from parpass.relay.op.declaration.relations import (
    broadcast_shape,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.declaration.type_relations import (
    bool_broadcast,
    comparison,
    integer_broadcast,
    integral_broadcast,
    number_broadcast,
)

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal",
    "floor_divide", "floor_mod", "greater", "greater_equal", "left_shift", "less",
    "less_equal", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "multiply", "not_equal", "power", "right_shift", "subtract", "trunc_divide",
    "trunc_mod", "where",
]  # fmt: skip


class BinaryBuilder(Protocol):
    """Builds a call of an operator on two tensors."""

    def __call__(self, lhs: Operand, rhs: Operand) -> Call:
        """Return the call."""
        ...


def _binary(
    name: str, relation: TypeRelationFn, meaning: Callable[[Any, Any], Any], doc: str
) -> BinaryBuilder:
    """Register an operator on two tensors and return the builder of its calls."""

    def compute(_attrs: None, lhs: Array, rhs: Array) -> Array:
        return np.asarray(meaning(lhs, rhs))

    @operator(name, relation, compute, doc=doc, pattern=BROADCAST)
    def build(lhs: Operand, rhs: Operand) -> Call: ...

    return build


def _truncated_quotient(lhs: Array, rhs: Array) -> Array:
    quotient = lhs // rhs
    # numpy rounds down; where the signs differ, that is one too low.
    return quotient + ((quotient < 0) & (quotient * rhs != lhs)).astype(lhs.dtype)


def _divide(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind in "iu":
        return _truncated_quotient(lhs, rhs)
    return lhs / rhs


def _trunc_divide(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind in "iu":
        return _truncated_quotient(lhs, rhs)
    return np.trunc(lhs / rhs)


add = _binary("add", number_broadcast, np.add, "Return `lhs + rhs`.")
subtract = _binary("subtract", number_broadcast, np.subtract, "Return `lhs - rhs`.")
multiply = _binary("multiply", number_broadcast, np.multiply, "Return `lhs * rhs`.")
divide = _binary(
    "divide", number_broadcast, _divide, "Return `lhs / rhs`, integers towards zero."
)
floor_divide = _binary(
    "floor_divide", number_broadcast, np.floor_divide, "Return `lhs / rhs`, downwards."
)
trunc_divide = _binary(
    "trunc_divide", number_broadcast, _trunc_divide, "Return `lhs / rhs`, towards zero."
)
mod = _binary("mod", number_broadcast, np.fmod, "Return the remainder of `divide`.")
floor_mod = _binary(
    "floor_mod", number_broadcast, np.mod, "Return the remainder of `floor_divide`."
)
trunc_mod = _binary(
    "trunc_mod", number_broadcast, np.fmod, "Return the remainder of `trunc_divide`."
)
power = _binary("power", number_broadcast, np.power, "Return `lhs` to the power `rhs`.")
maximum = _binary("maximum", number_broadcast, np.maximum, "Return the larger.")
minimum = _binary("minimum", number_broadcast, np.minimum, "Return the smaller.")

equal = _binary("equal", comparison, np.equal, "Return `lhs == rhs`.")
not_equal = _binary("not_equal", comparison, np.not_equal, "Return `lhs != rhs`.")
less = _binary("less", comparison, np.less, "Return `lhs < rhs`.")
less_equal = _binary("less_equal", comparison, np.less_equal, "Return `lhs <= rhs`.")
greater = _binary("greater", comparison, np.greater, "Return `lhs > rhs`.")
greater_equal = _binary(
    "greater_equal", comparison, np.greater_equal, "Return `lhs >= rhs`."
)

logical_and = _binary(
    "logical_and", bool_broadcast, np.logical_and, "Return `lhs and rhs`."
)
logical_or = _binary(
    "logical_or", bool_broadcast, np.logical_or, "Return `lhs or rhs`."
)
logical_xor = _binary(
    "logical_xor", bool_broadcast, np.logical_xor, "Return whether one alone holds."
)

bitwise_and = _binary(
    "bitwise_and", integral_broadcast, np.bitwise_and, "Return `lhs & rhs`."
)
bitwise_or = _binary(
    "bitwise_or", integral_broadcast, np.bitwise_or, "Return `lhs | rhs`."
)
bitwise_xor = _binary(
    "bitwise_xor", integral_broadcast, np.bitwise_xor, "Return `lhs ^ rhs`."
)
left_shift = _binary(
    "left_shift", integer_broadcast, np.left_shift, "Return `lhs << rhs`."
)
right_shift = _binary(
    "right_shift", integer_broadcast, np.right_shift, "Return `lhs >> rhs`."
)


def _where_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    condition, x, y = tensors(types)
    require_same_dtype((x, y))
    return TensorType(broadcast_shape(condition.shape, x.shape, y.shape), x.dtype)


def _where(_attrs: None, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


@operator("where", _where_relation, _where, pattern=BROADCAST)
def where(condition: Operand, x: Operand, y: Operand) -> Call:
    """Return the elements of `x` where the condition is not 0, else those of `y`."""
    ...
