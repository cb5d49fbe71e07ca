"""SimplifyExpr: what can be said in fewer operators is."""

from __future__ import annotations

from parpass.relay.expr import Function
from parpass.relay.module import IRModule
from parpass.relay.transform.simplify import arithmetic, casts, concretize, shapes
from parpass.relay.transform.simplify.peephole import Peephole
from parpass.relay.transform.typed import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_RULES = {
    **concretize.RULES,
    **shapes.RULES,
    **casts.RULES,
    **arithmetic.RULES,
}


@register_pass("relay._transform.SimplifyExpr")
class SimplifyExpr(FunctionPass):
    """Leave out operators that others make needless.

    ::

        def @main(%x: Tensor[(2, 6), float32]) {
          %0 = reshape(%x, newshape=[3, -1]);
          %1 = zeros_like(%0);
          %2 = add(%0, %1);
          reshape(%2, newshape=[12])
        }

    becomes::

        def @main(%x: Tensor[(2, 6), float32]) {
          reshape(%x, newshape=[12])
        }

    Reshapes, transposes, changes of layout and casts in a row become one or none;
    what is like another tensor is made from its type; `+ 0`, `- 0`, `* 1` and `/ 1` go;
    tensors of one value become scalars; constants that are added, or multiplied, one
    after the other are put together, which may change the last digits of floats; so
    may `c * rsqrt(x)`, which `c / sqrt(x)` becomes.
    """

    pass_info = PassInfo(0, "SimplifyExpr", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function in fewer operators."""
        peephole = Peephole(_RULES, mod)
        result = peephole.run(typed_function(func, mod))
        if peephole.applied:
            ctx.count("simplified", peephole.applied)
        return result


def simplify_expr(function: Function) -> Function:
    """Return a typed function in fewer operators; see `SimplifyExpr`."""
    return Peephole(_RULES).run(function)
