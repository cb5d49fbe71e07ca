"""Relay passes that are hard to run: they bind, retype, weigh, and look at values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parpass import relay
from parpass.ir.module import IRModule
from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo


class Rename(FunctionPass):
    """Binds what a function returns to a variable, reads another one, and counts."""

    pass_info = PassInfo(0, "Rename")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        other = mod["f0"]
        ctx.count("params", len(other.params))
        if isinstance(func.body, relay.Call) and len(other.params) > 1:
            return func
        with_let = relay.var("new")
        body = relay.Let(with_let, func.body, with_let)
        return relay.Function(func.params, body, func.ret_type)


class Reverse(ModulePass):
    """Puts the functions in reverse order, under the names that they have."""

    pass_info = PassInfo(0, "Reverse")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        items = list(mod.functions.items())
        return IRModule(dict(reversed(items)))


class Retype(FunctionPass):
    """Has a function return a pair, so that those that call it follow, or fail."""

    def __init__(self, *names: str) -> None:
        self.pass_info = PassInfo(0, "Retype")
        self.names = names

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name not in self.names:
            return func
        return relay.Function(func.params, relay.Tuple((func.body, func.body)))


class Loosen(FunctionPass):
    """Has a function state no type of its result, so that it follows its callees."""

    pass_info = PassInfo(0, "Loosen")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        return relay.Function(func.params, func.body)


class Weigh(FunctionPass):
    """Adds a constant, mostly of 20 kB, to each function that has none so far."""

    pass_info = PassInfo(0, "Weigh")

    def __init__(self, layout: str = "plain") -> None:
        self.layout = layout

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if isinstance(func.body, relay.Let) and func.body.var.name_hint == "weight":
            return func
        weight = relay.const(_weight(self.layout))
        body = relay.Let(relay.var("weight"), weight, func.body)
        return relay.Function(func.params, body, func.ret_type)


def _weight(layout: str) -> npt.NDArray[Any]:
    values = np.sqrt(np.arange(5_000, dtype="float32")).reshape(50, 100)
    return {
        "plain": values,
        "transposed": values.T,
        "strided": np.repeat(values, 2, 1)[:, ::2],
        "swapped": values.astype(values.dtype.newbyteorder("S")),
        "empty": values[:0].T,
        "repeated": np.broadcast_to(values[0], values.shape),
    }[layout]


LAYOUTS = ["plain", "transposed", "strided", "swapped", "empty", "repeated"]


class Average(FunctionPass):
    """Adds the averages of the constants, whose bits tell how their elements lie."""

    pass_info = PassInfo(0, "Average")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        class Averaged(relay.ExprMutator):
            def visit_constant(self, const: relay.Constant) -> relay.Expr:
                values = const.data.numpy()
                if not values.size or values.dtype == bool:
                    return const
                average = np.mean(values, dtype=values.dtype)
                return relay.const((values + average).astype(values.dtype))

        return Averaged().visit(func)  # pyright: ignore[reportReturnType]


class AddUp(FunctionPass):
    """Looks at the constants of a function, and of another one, and counts."""

    pass_info = PassInfo(0, "AddUp")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        def look(node: relay.Expr) -> None:
            if isinstance(node, relay.Constant):
                ctx.count("sum", int(node.data.numpy().astype("int64").sum()))

        relay.analysis.post_order_visit(func, look)
        relay.analysis.post_order_visit(mod["f0"], look)
        return func


class Increment(FunctionPass):
    """Adds 1 to each constant, so that all are looked at and new ones are made."""

    pass_info = PassInfo(0, "Increment")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        class Incremented(relay.ExprMutator):
            def visit_constant(self, const: relay.Constant) -> relay.Expr:
                values = const.data.numpy()
                return relay.const((values + 1).astype(values.dtype))

        return Incremented().visit(func)  # pyright: ignore[reportReturnType]
