"""`relay.transform.gradient`: functions become functions with their gradients."""

from __future__ import annotations

from parpass.errors import IRError, IRTypeError
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.transform.differentiation.first_order_gradient import (
    first_order_gradient,
)
from parpass.relay.transform.differentiation.higher_order_gradient import (
    higher_order_gradient,
)

_MODES = {
    "first_order": first_order_gradient,
    "higher_order": higher_order_gradient,
}


def gradient(
    expr: Expr, mod: IRModule | None = None, mode: str = "higher_order"
) -> Function:
    """Return a function that gives its result, and its gradient by each parameter.

    The result is `(f(x, y), (df/dx, df/dy))`, where gradients are those of the sum of
    the tensor that `f` gives; of a tuple, of the first one in it. It can be
    differentiated again.

    Args:
        expr: A function, or a global variable of the module.
        mod: Has the global functions that it calls. Those that `higher_order` comes to
            get counterparts in it, `f_grad` of `f`.
        mode: `first_order` takes programs of operators and tuples, and gives such;
            `higher_order` takes all, and gives closures and references.

    Raises:
        IRError: An operator has no gradient, or the mode is none.
        IRTypeError: `expr` is no function.
    """
    if mode not in _MODES:
        raise IRError(f"expected mode 'first_order' or 'higher_order', got '{mode}'")
    if isinstance(expr, GlobalVar) and mod is not None:
        expr = mod[expr]
    if not isinstance(expr, Function):
        raise IRTypeError(f"expected a function to differentiate, got {expr!r}")
    return _MODES[mode](expr, mod)
