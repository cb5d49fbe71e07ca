"""CanonicalizeCast and CanonicalizeOps.

The first copies casts to their users, the second replaces operators that others
express.
"""

from __future__ import annotations

import re
from typing import cast

from msgspec import structs

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op, OpPattern
from parpass.ir.types import TensorType
from parpass.relay.analysis.operator_names import has_operator, operators
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.op import expand_dims
from parpass.relay.span_filler import with_span
from parpass.relay.type_inference.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_CAST = Op.get("cast")


@register_pass("relay._transform.CanonicalizeCast")
class CanonicalizeCast(FunctionPass):
    """Duplicate each widening cast for every elementwise user.

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

    Each cast can then be fused with its user, so that the narrow value is stored.
    """

    pass_info = PassInfo(3, "CanonicalizeCast", required=("InferType",))
    cacheable = True
    preserves = (operators,)

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with casts beside their users."""
        typed = typed_function(func, mod)
        if not has_operator(typed, {_CAST.name}, ctx):
            return typed
        return CastCanonicalizer().visit(typed)


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
    return _width(found.dtype) < _width(expr.attrs.dtype)


def _width(dtype: str) -> int:
    """Return how many bits an element has in memory, also where numpy has no such."""
    digits = re.search(r"\d+", dtype)
    return max(8, int(digits.group())) if digits else 8


_ADD = Op.get("add")
_BIAS_ADD = Op.get("nn.bias_add")


@register_pass("relay._transform.CanonicalizeOps")
class CanonicalizeOps(FunctionPass):
    """Rewrite `nn.bias_add` as a broadcasting `add`.

    ::

        def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3,), float32]) {
          nn.bias_add(%x, %b)
        }

    becomes::

        def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3,), float32]) {
          %0 = expand_dims(%b, axis=1, num_newaxis=2);
          add(%x, %0)
        }

    Passes that handle `add` then handle biases, too.
    """

    pass_info = PassInfo(3, "CanonicalizeOps", required=("InferType",))
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with biases added by `add`."""
        typed = typed_function(func, mod)
        if not has_operator(typed, {_BIAS_ADD.name}, ctx):
            return typed
        return OpCanonicalizer().visit(typed)


class OpCanonicalizer(ExprMutator):
    """Rewrites typed calls of `nn.bias_add`."""

    def visit_call(self, call: Call) -> Expr:
        """Return an `add` for a bias."""
        new = cast("Call", super().visit_call(call))
        if new.op is not _BIAS_ADD:
            return new
        # The type of the argument as it was, for a rewritten one has none yet.
        found = call.args[0].checked_type
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor to add a bias to, got {found}")
        data, bias = new.args
        rank = len(found.shape)
        behind = rank - new.attrs.axis % rank - 1
        if behind:
            made = expand_dims(bias, axis=1, num_newaxis=behind)
            bias = with_span(made, call.span, [bias])
        return Call(_ADD, (data, bias), span=call.span)
