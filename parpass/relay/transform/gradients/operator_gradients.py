"""The table of gradients of operators, and gradients of tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from parpass.errors import IRError
from parpass.ir.op.op_registration import op_attrs
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, Type, fields_of
from parpass.relay.expr import Call, Expr, Tuple, TupleGetItem
from parpass.relay.op.hooks import PRIMAL_GRADIENT
from parpass.relay.transform.gradients.pointwise_gradients import POINTWISE, Gradient
from parpass.relay.transform.gradients.structural_gradients import INDEXING, STRUCTURAL
from parpass.relay.transform.gradients.window_gradients import WINDOWS
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
    return any(
        isinstance(field, TensorType) and is_float_dtype(field.dtype)
        for field in fields_of(typ)
    )


def op_field(value: Expr, index: int) -> Expr:
    """Return a field of a tuple, of a literal one the field itself."""
    if isinstance(value, Tuple):
        return value.fields[index]
    return TupleGetItem(value, index)
