"""What folding forward and backward share: which operators scales pass, and how."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

from msgspec.structs import replace

from parpass.ir.module import IRModule
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Scale,
    broadcasts_to,
    is_known_as,
)
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext

RELUS = frozenset({"nn.relu", "nn.leaky_relu"})
SUMS = frozenset({"add", "subtract"})


class ScaleFolder(ExprMutator):
    """Rewrites an expression with types; its scales go into weights.

    Attributes:
        count: How many did.
    """

    def __init__(self, root: Expr) -> None:
        super().__init__()
        self.count = 0
        self._root = root

    def folded(self) -> Expr:
        """Return the expression with scales folded."""
        return self.visit(self._root)


class ScaleFoldingPass(FunctionPass):
    """A pass that folds the scales of a function in one direction."""

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with scales folded."""
        folder = self._folder(typed_function(func, mod))
        result = folder.folded()
        if folder.count:
            ctx.count("folded", folder.count)
        return cast("Function", result)

    @abstractmethod
    def _folder(self, func: Function) -> ScaleFolder:
        """Return what folds the scales of a typed function."""


def scaled_side(
    product: Call, demand_for: Callable[[int], Demand | None], factors: Sequence[Expr]
) -> tuple[int, Demand] | None:
    """Return which argument of a product a wanted scale can be taken from, if any.

    Args:
        product: The product, with types.
        demand_for: Returns which scale of an argument would be taken.
        factors: The arguments, which may be rewritten.
    """
    for data, factor in ((0, 1), (1, 0)):
        demand = demand_for(data)
        of, by = product.args[data], product.args[factor]
        if demand is None or not broadcasts_to(of, by, demand.axes):
            continue
        if is_known_as(factors[factor], demand.need):
            return data, demand
    return None


def with_other_side(
    call: Call, new: Call, side: int, scale: Scale, change: Callable[[Expr, Expr], Expr]
) -> Call:
    """Return a sum of which one side has a scale, with the other one changed by it.

    Args:
        call: The sum, with types.
        new: The sum as it is rewritten so far.
        side: Which argument has the scale.
        scale: The scale.
        change: Returns the other argument, multiplied or divided by it.
    """
    args = list(new.args)
    args[1 - side] = change(args[1 - side], scale.along(scale.axes, call.args[side]))
    return replace(new, args=tuple(args), checked_type_=None)
