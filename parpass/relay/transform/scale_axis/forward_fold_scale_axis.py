"""ForwardFoldScaleAxis: scales move behind, into the weights of what uses them."""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op import divide
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Need,
    Scale,
    broadcasts_to,
    common,
)
from parpass.relay.transform.scale_axis.scale_folder import (
    RELUS,
    SUMS,
    ScaleFolder,
    ScaleFoldingPass,
    scaled_side,
    with_other_side,
)
from parpass.relay.transform.scale_axis.weights import is_foldable, with_scaled_weight
from parpass.transform import PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.ForwardFoldScaleAxis")
class ForwardFoldScaleAxis(ScaleFoldingPass):
    """Fold the scales of channels into the weights of the convolutions behind them.

    ::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32], %s: Tensor[(2, 1, 1), float32]) {
          %0 = multiply(%x, %s);
          nn.conv2d(%0, %w)
        }

    becomes::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32], %s: Tensor[(2, 1, 1), float32]) \
-> Tensor[(1, 4, 6, 6), float32] {
          %0 = squeeze(%s, axis=[1, 2]);
          %1 = expand_dims(%0, axis=1, num_newaxis=2);
          %2 = multiply(%w, %1);
          nn.conv2d(%x, %2)
        }

    What depends on weights only is then folded. A scale passes `nn.relu` if it is a
    positive constant, and `add` and `subtract`, whose other side is divided by it, if
    it is a constant without zeros. It moves only where all users take it: convolutions
    that are not grouped or depthwise, and `nn.dense`. Only floats are scaled; results
    are equal up to rounding, so constants near the ends of their range stay.

    First the demand for scales is passed on from users to what they use, then scales
    are to their users, as in TVM's `fold_scale_axis.cc`. Linear.
    """

    pass_info = PassInfo(3, "ForwardFoldScaleAxis", required=("InferType",))

    def _folder(self, func: Function) -> ScaleFolder:
        return _ForwardFolder(func)


def forward_fold_scale_axis(expr: ExprT) -> ExprT:
    """Return a typed expression with scales folded; see `ForwardFoldScaleAxis`.

    Raises:
        UntypedError: InferType has not run on the expression.
    """
    return cast("ExprT", _ForwardFolder(expr).folded())


class _ForwardFolder(ScaleFolder):
    """Rewrites values to what they are before scaling, and keeps their scales."""

    def __init__(self, root: Expr) -> None:
        super().__init__(root)
        self._demands = _demands(root)
        self._scales: dict[Expr, Scale] = {}

    def visit_call(self, call: Call) -> Expr:
        new = cast("Call", super().visit_call(call))
        if not isinstance(call.op, Op):
            return new
        if call.op.name == "multiply":
            return self._without_scale(call, new)
        at = next((n for n, arg in enumerate(call.args) if arg in self._scales), None)
        if at is None:
            return new
        scale = self._scales[call.args[at]]
        if call.op.name in RELUS:
            self._scales[call] = scale
            return new
        if call.op.name in SUMS:
            self._scales[call] = scale
            return with_other_side(call, new, at, scale, divide)
        self.count += 1
        return with_scaled_weight(call, new, scale, forward=True)

    def _without_scale(self, call: Call, new: Call) -> Expr:
        found = scaled_side(call, lambda _: self._demands.get(call), new.args)
        if found is None:
            return new
        data, demand = found
        self._scales[call] = Scale.of(call, data, demand.axes, new.args[1 - data])
        return new.args[data]


def _demands(root: Expr) -> dict[Expr, Demand | None]:
    """Return the scale of each value that all its users take; None for no such."""
    found: dict[Expr, Demand | None] = {root: None}
    for node in reversed(post_order(root)):
        below = children(node)
        demands: list[Demand | None] = [None] * len(below)
        if isinstance(node, Call) and isinstance(node.op, Op):
            demands = [None, *_demands_of(node, found.get(node))]
        for child, demand in zip(below, demands, strict=True):
            found[child] = common(found[child], demand) if child in found else demand
    return found


def _demands_of(call: Call, demand: Demand | None) -> list[Demand | None]:
    """Return the scale of each argument that a call takes, given its own demand."""
    name = cast("Op", call.op).name
    nothing: list[Demand | None] = [None] * len(call.args)
    if name in RELUS and demand is not None:
        return [demand.with_need(Need.POSITIVE)]
    if name in SUMS and demand is not None:
        one, other = call.args
        through = demand.with_need(Need.NONZERO)
        if broadcasts_to(one, other, demand.axes):
            return [through, None]
        if broadcasts_to(other, one, demand.axes):
            return [None, through]
        return nothing
    taken = is_foldable(call, forward=True)
    return nothing if taken is None else [taken, None]
