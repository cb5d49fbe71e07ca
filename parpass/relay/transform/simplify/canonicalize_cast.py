"""CanonicalizeCast: each user of a wider value casts it by itself."""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.operators.op_table import Op, OpPattern
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_CAST = Op.get("cast")


@register_pass("relay._transform.CanonicalizeCast")
class CanonicalizeCast(FunctionPass):
    """Give every elementwise user of a cast to a wider dtype a cast of its own.

    ::

        def @main(%x: Tensor[(8,), int8], %y: Tensor[(8,), int32]) {
          %0 = cast(%x, dtype="int32");
          %1 = add(%0, %y);
          %2 = multiply(%0, %y);
          add(%1, %2)
        }

    becomes::

        def @main(%x: Tensor[(8,), int8], %y: Tensor[(8,), int32]) {
          %0 = cast(%x, dtype="int32");
          %1 = add(%0, %y);
          %2 = cast(%x, dtype="int32");
          %3 = multiply(%2, %y);
          add(%1, %3)
        }

    Each cast can be fused with its user then, and what is stored in between is narrow.
    """

    pass_info = PassInfo(3, "CanonicalizeCast", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with casts beside their users."""
        return CastCanonicalizer().visit(typed_function(func, mod))


class CastCanonicalizer(ExprMutator):
    """Copies casts to wider dtypes for all elementwise users but the first."""

    def __init__(self) -> None:
        super().__init__()
        self._used: set[Expr] = set()

    def visit_call(self, call: Call) -> Expr:
        """Return an elementwise call with casts of its own."""
        new = cast("Call", super().visit_call(call))
        if not isinstance(call.op, Op) or call.op.pattern > OpPattern.BROADCAST:
            return new
        pairs = zip(call.args, new.args, strict=True)
        args = tuple(self._own(old, arg) for old, arg in pairs)
        if all(mine is arg for mine, arg in zip(args, new.args, strict=True)):
            return new
        return Call(new.op, args, new.attrs, new.type_args, new.span)

    def _own(self, old: Expr, new: Expr) -> Expr:
        if not _widens(old):
            return new
        if old in self._used:
            return structs.replace(new, checked_type_=None)
        self._used.add(old)
        return new


def _widens(expr: Expr) -> bool:
    if not isinstance(expr, Call) or expr.op is not _CAST:
        return False
    found = expr.args[0].checked_type
    if not isinstance(found, TensorType):
        return False
    return np.dtype(found.dtype).itemsize < np.dtype(expr.attrs.dtype).itemsize
