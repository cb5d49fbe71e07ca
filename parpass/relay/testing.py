"""`relay.testing`: run a pass on one expression, as tests of passes do.

::

    def test_zeros_are_folded():
        x = relay.var("x", shape=(2,))
        folded = run_opt_pass(relay.add(x, relay.const(0.0)), FoldZeros())
        tvm.assert_structural_equal(folded, run_infer_type(x))
"""

from __future__ import annotations

from collections import Counter
from typing import overload

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprVisitor
from parpass.relay.prelude import Prelude
from parpass.relay.transform import InferType
from parpass.transform import Pass
from parpass.tvm_paths import attach_tvm_paths


@overload
def run_opt_pass(
    expr: Function, opt_pass: Pass, import_prelude: bool = False
) -> Function: ...
@overload
def run_opt_pass(expr: Expr, opt_pass: Pass, import_prelude: bool = False) -> Expr: ...
def run_opt_pass(expr: Expr, opt_pass: Pass, import_prelude: bool = False) -> Expr:
    """Return what a pass makes of an expression, whose types are inferred before.

    An expression that is no function becomes the body of one, over its free variables;
    what is returned is the body that comes out.

    Args:
        expr: The expression.
        opt_pass: The pass.
        import_prelude: Whether the expression is in a module with the prelude.
    """
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    mod = opt_pass(InferType()(mod))
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


@overload
def run_infer_type(expr: Function) -> Function: ...
@overload
def run_infer_type(expr: Expr) -> Expr: ...
def run_infer_type(expr: Expr) -> Expr:
    """Return an expression whose types are inferred."""
    return run_opt_pass(expr, InferType())


def count_ops(expr: Expr) -> Counter[str]:
    """Return how many calls of each operator an expression has."""
    counter = _OpCounter()
    counter.visit(expr)
    return counter.found


class _OpCounter(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def visit_call(self, call: Call) -> None:
        if isinstance(call.op, Op):
            self.found[call.op.name] += 1


attach_tvm_paths(__name__)
