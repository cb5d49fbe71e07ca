"""Legalize: operators become others that a target has."""

from __future__ import annotations

from typing import Any, cast

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.op_registration import op_attrs
from parpass.ir.op_table import Op
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.op.hooks import LEGALIZE
from parpass.relay.span_filler import SpanFiller
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.Legalize")
class Legalize(FunctionPass):
    """Replace operators by what the rules registered for them return.

    With a rule for `nn.relu` that returns a `maximum`::

        def @main(%x: Tensor[(3,), float32]) {
          nn.relu(%x)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          maximum(%x, 0f)
        }

    A rule is registered by `relay.op.register_legalize`. It is a function of the call's
    attributes, its arguments and the types of these and of the result, and returns an
    expression, or None to leave the call. What it returns is not replaced again.

    Args:
        legalize_map_attr_name: The key that rules are registered under.
    """

    pass_info = PassInfo(1, "Legalize", required=("InferType",))

    def __init__(self, legalize_map_attr_name: str = LEGALIZE) -> None:
        self.legalize_map_attr_name = legalize_map_attr_name

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with operators replaced."""
        rules = op_attrs(self.legalize_map_attr_name)
        if not (rules and has_operator(func, rules, ctx)):
            return func
        legalizer = _Legalizer(dict(rules))
        result = legalizer.visit(typed_function(func, mod))
        if not legalizer.replaced:
            return func
        ctx.count("legalized", legalizer.replaced)
        return result


class _Legalizer(ExprMutator):
    def __init__(self, rules: dict[str, Any]) -> None:
        super().__init__()
        self.replaced = 0
        self._rules = rules
        self._spans = SpanFiller()

    def visit_call(self, call: Call) -> Expr:
        new = cast("Call", super().visit_call(call))
        for one in (new, *new.args):  # a rule may give back any of these
            self._spans.keep(one)
        rule = self._rules.get(new.op.name) if isinstance(new.op, Op) else None
        if rule is None:
            return new
        types = [*(arg.checked_type for arg in call.args), call.checked_type]
        found = rule(new.attrs, list(new.args), types)
        if found is None:
            return new
        if not isinstance(found, Expr):
            raise IRTypeError(
                f"expected an expression for '{cast('Op', new.op).name}', or None, got "
                f"{type(found).__name__}"
            )
        self.replaced += 1
        return self._spans.filled(found, call.span)
