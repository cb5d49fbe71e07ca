"""SimplifyExpr: what can be said in fewer operators is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parpass.ir.module import IRModule
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.expr import Function
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.simplify import arithmetic, simplify_rules
from parpass.relay.transform.simplify.peephole import Peephole, Rule
from parpass.relay.type_inference.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

RULES = {
    **simplify_rules.LIKE_RULES,
    **simplify_rules.SHAPE_RULES,
    **simplify_rules.CAST_RULES,
    **arithmetic.ARITHMETIC_RULES,
}
_ROUNDING_RULES = {**RULES, **arithmetic.ROUNDING_RULES}


@register_pass("relay._transform.SimplifyExpr")
class SimplifyExpr(FunctionPass):
    """Remove operators that other operators make redundant.

    ::

        def @main(%x: Tensor[(2, 6), float32]) {
          %0 = reshape(%x, newshape=[3, -1]);
          %1 = ones_like(%0);
          %2 = multiply(%0, %1);
          reshape(%2, newshape=[12])
        }

    becomes::

        def @main(%x: Tensor[(2, 6), float32]) {
          reshape(%x, newshape=[12])
        }

    Consecutive reshapes, transposes, layout changes and casts become one or none. A
    `..._like` operator is replaced by one that uses the type of its argument. `* 1`,
    `/ 1`, and added or subtracted zeros are removed. Tensors with one value become
    scalars. Consecutive additions or multiplications of integers are combined. All of
    this is exact to the bit.

    With `exact=False` floats are combined, too, if no value can leave the range of
    normal numbers. `c / sqrt(x)` becomes `c * rsqrt(x)`, and an added zero that turns
    `-0.0` into `0.0` is removed. This changes last digits, and all digits where large
    numbers cancel: `(x - 1e8) * d` becomes `x * d - 1e8 * d`.

    Args:
        exact: Whether results must stay the same to the bit.
    """

    pass_info = PassInfo(0, "SimplifyExpr", required=("InferType",))
    cacheable = True

    def __init__(self, exact: bool = True) -> None:
        self.exact = exact

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function in fewer operators."""
        typed, rules = typed_function(func, mod), _rules(exact=self.exact)
        if not has_operator(typed, rules, ctx):
            return typed
        with Evaluator.of(func, ctx) as evaluator:
            peephole = Peephole(rules, evaluator, mod)
            result = peephole.run(typed)
        if peephole.applied:
            ctx.count("simplified", peephole.applied)
        return result


def simplify_expr(function: Function, *, exact: bool = True) -> Function:
    """Return a typed function in fewer operators; see `SimplifyExpr`."""
    with Evaluator(function) as evaluator:
        return Peephole(_rules(exact=exact), evaluator).run(function)


def _rules(*, exact: bool) -> Mapping[str, Sequence[Rule]]:
    return RULES if exact else _ROUNDING_RULES
