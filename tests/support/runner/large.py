"""Modules with large constants, and passes that look at them or make them."""

from __future__ import annotations

import numpy as np

from parpass import IRModule, PassContext, relay
from parpass.transform import FunctionPass, PassInfo

SIDE = 100  # of a constant: 40 kB


def weighted(functions: int, side: int = SIDE) -> IRModule:
    """Return a module of functions that each add a large constant."""

    def function(seed: int) -> relay.Function:
        x = relay.var("x", shape=(side, side))
        weights = np.random.default_rng(seed).random((side, side), np.float32)
        return relay.Function((x,), relay.add(x, relay.const(weights)))

    return IRModule({f"f{seed}": function(seed) for seed in range(functions)})


class Doubled(FunctionPass):
    """Doubles every constant, so that all are looked at and new ones are made."""

    pass_info = PassInfo(0, "Doubled")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        class Double(relay.ExprMutator):
            def visit_constant(self, const: relay.Constant) -> relay.Expr:
                return relay.const(const.data.numpy() * 2)

        return Double().visit(func)  # pyright: ignore[reportReturnType]


class DoubledIfPossible(Doubled):
    """The same, but it takes no error for an answer."""

    pass_info = PassInfo(0, "DoubledIfPossible")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        try:
            return super().transform_function(func, mod, ctx)
        except Exception:  # noqa: BLE001 -- what careless passes do
            return func


class MakeLarge(FunctionPass):
    """Returns a function with a large constant, whatever it is given."""

    pass_info = PassInfo(0, "MakeLarge")

    def __init__(self, side: int) -> None:
        self.side = side

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        ones = np.ones((self.side, self.side), "float32")
        return relay.Function((), relay.const(ones))
