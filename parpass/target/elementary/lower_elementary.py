"""LowerElementary: calls of elementary functions become arithmetic."""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.operators.op_table import Op
from parpass.target.elementary.elementary_functions import Elementary
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Cast
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

# Units in the last place by which a float32 is wrong at most, where rounding alone
# makes it 0.5; of bfloat16 and float16 it is the same.
MOST_ULP = 0.6

FUNCTIONS = (
    *("cosh", "erf", "exp", "exp10", "exp2", "hypot", "log", "log10", "log1p", "log2"),
    *("pow", "sigmoid", "sinh", "tanh"),
)
_LOWERED = {f"tir.{name}": name for name in FUNCTIONS}


@register_pass("target.LowerElementary")
class LowerElementary(PrimFuncPass):
    """Compute exp, log, tanh and others of floats of 16 and 32 bits by polynomials.

    ::

        B[i] = exp(A[i])

    becomes::

        B[i] = float32(let x = float64(A[i]) in ... polynomial ...)

    So they need no library, give the same bits on every machine, and are vectors where
    loops are vectorised. They are computed in float64 and rounded once, by which a
    result is wrong by at most 0.6 units in its last place. Those of float64 stay calls
    of C's mathematics, as do the other functions.
    """

    pass_info = PassInfo(0, "target.LowerElementary")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without such calls."""
        body = ElementaryLowerer().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class ElementaryLowerer(StmtExprMutator):
    """Rewrites calls, those in arguments first."""

    def visit_call_(self, op: Call) -> Node:
        """Compute a function by polynomials."""
        new = self.visit_default(op)
        assert isinstance(new, Call)
        name = _LOWERED.get(new.op.name) if isinstance(new.op, Op) else None
        kind = data_type(new.dtype)
        if name is None or not kind.is_floating or kind.bits > 32:
            return new
        functions = Elementary(kind.lanes)
        wide = [Cast(functions.dtype, arg) for arg in new.args]
        return Cast(new.dtype, functions.compute(name, wide), new.span)
