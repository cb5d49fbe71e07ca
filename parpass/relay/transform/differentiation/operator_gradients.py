"""Which gradient an operator has, and what gradients of tuples are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from parpass.errors import IRError
from parpass.ir.operators.op_attrs import op_attrs
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Tuple, TupleGetItem
from parpass.relay.op.hooks.gradient_hooks import PRIMAL_GRADIENT
from parpass.relay.transform.differentiation.indexing_gradients import INDEXING
from parpass.relay.transform.differentiation.pointwise_gradients import (
    POINTWISE,
    Gradient,
)
from parpass.relay.transform.differentiation.structural_gradients import STRUCTURAL
from parpass.relay.transform.differentiation.window_gradients import WINDOWS
from parpass.runtime.dtypes import is_float_dtype

SHIPPED: Mapping[str, Gradient] = {**POINTWISE, **STRUCTURAL, **WINDOWS, **INDEXING}


class Gradients:
    """The gradients of operators, those that users have registered first."""

    def __init__(self) -> None:
        self._own = op_attrs(PRIMAL_GRADIENT)

    def of(self, call: Call, grad: Expr) -> Sequence[Expr]:
        """Return the gradients of the arguments of a typed call of an operator.

        Raises:
            IRError: The operator has no gradient.
        """
        name = cast("Op", call.op).name
        rule: Gradient | None = self._own.get(name)
        rule = rule or SHIPPED.get(name)
        if rule is None:
            raise IRError(
                f"operator '{name}' has no gradient; relay.op.register_gradient gives "
                "it one"
            )
        found = rule(call, grad)
        if len(found) != len(call.args):
            raise IRError(
                f"expected {len(call.args)} gradients of operator '{name}', got "
                f"{len(found)}"
            )
        return found


def is_differentiable(typ: Type) -> bool:
    """Return whether there is a tensor of floats in a type."""
    if isinstance(typ, TupleType):
        return any(map(is_differentiable, typ.fields))
    return isinstance(typ, TensorType) and is_float_dtype(typ.dtype)


def op_field(value: Expr, index: int) -> Expr:
    """Return a field of a tuple, of a literal one the field itself."""
    if isinstance(value, Tuple):
        return value.fields[index]
    return TupleGetItem(value, index)


def mapped(typ: Type, value: Expr, of_tensor: Callable[[Expr], Expr]) -> Expr:
    """Return a value with each of its tensors replaced."""
    if isinstance(typ, TupleType):
        fields = [
            mapped(field, op_field(value, at), of_tensor)
            for at, field in enumerate(typ.fields)
        ]
        return Tuple(tuple(fields))
    return of_tensor(value)
