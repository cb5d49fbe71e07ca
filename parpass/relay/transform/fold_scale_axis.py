"""FoldScaleAxis: scales of channels are folded into weights.

BackwardFoldScaleAxis moves scales up, into the weights that compute the scaled value;
ForwardFoldScaleAxis moves them down, into the weights of its users.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

from parpass.ir.node import children, post_order
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op import divide, multiply
from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.scale_folder import (
    RELUS,
    SUMS,
    Demand,
    Scale,
    ScaleFolder,
    ScaleFoldingPass,
    ScaleProperty,
    broadcasts_to,
    common,
    is_foldable,
    scaled_side,
    with_other_side,
    with_scaled_weight,
)
from parpass.transform import PassInfo, Sequential, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.BackwardFoldScaleAxis")
class BackwardFoldScaleAxis(ScaleFoldingPass):
    """Fold channel scales into the weights of the convolutions before them.

    ::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
          %0 = nn.conv2d(%x, %w);
          multiply(%0, %s)
        }

    becomes::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) \
-> Tensor[(1, 4, 6, 6), float32] {
          %0 = squeeze(%s, axis=[1, 2]);
          %1 = expand_dims(%0, axis=1, num_newaxis=3);
          %2 = multiply(%w, %1);
          nn.conv2d(%x, %2)
        }

    Arithmetic on weights alone is then folded, so a batch normalisation after a
    convolution shrinks to an addition. A scale passes through `nn.relu` if it is a
    positive constant, and through `add` and `subtract`: each side takes it, or is
    multiplied by it. It moves only through values that are used once. Only float32 and
    float64 are scaled. Results are equal up to rounding, so constants near the ends of
    their range stay.

    The pass first finds which scales each value could take, starting at the
    convolutions, and then moves scales up, as TVM's `fold_scale_axis.cc` does. It takes
    linear time.
    """

    pass_info = PassInfo(3, "BackwardFoldScaleAxis", required=("InferType",))
    cacheable = True

    def _folder(self, func: Function) -> ScaleFolder:
        return _BackwardFolder(func)


def backward_fold_scale_axis(expr: ExprT) -> ExprT:
    """Return a typed expression with scales folded; see `BackwardFoldScaleAxis`.

    Raises:
        UntypedError: InferType has not run on the expression.
    """
    return cast("ExprT", _BackwardFolder(expr).folded())


class _Dropped(NamedTuple):
    """A product that is to be dropped: its factor moves up.

    Attributes:
        product: The product.
        data: Which of its arguments takes its place.
        axes: The axes of that argument that are scaled.
    """

    product: Call
    data: int
    axes: tuple[int, ...]

    @property
    def factor(self) -> Expr:
        """The scale, as it was."""
        return self.product.args[1 - self.data]


class _Offers:
    """The scale that each value could take.

    Attributes:
        found: The scale, where there is one.
        sides: The arguments to which an addition passes it.
    """

    def __init__(self, order: Sequence[Expr]) -> None:
        self.found: dict[Expr, Demand] = {}
        self.sides: dict[Expr, tuple[int, ...]] = {}
        uses = Counter(child for node in order for child in children(node))
        for node in order:
            if isinstance(node, Call) and isinstance(node.op, Op) and uses[node] == 1:
                offer = self._offer(node, node.op.name)
                if offer is not None:
                    self.found[node] = offer

    def _offer(self, call: Call, name: str) -> Demand | None:
        if name in RELUS:
            given = self.found.get(call.args[0])
            return given and given.with_need(ScaleProperty.POSITIVE)
        if name in SUMS:
            return self._offer_of_sum(call)
        return is_foldable(call, forward=False)

    def _offer_of_sum(self, call: Call) -> Demand | None:
        one, other = call.args
        left, right = self.found.get(one), self.found.get(other)
        both = common(left, right)
        if both is not None and one.checked_type == other.checked_type:
            self.sides[call] = (0, 1)
            return both
        if left is not None and broadcasts_to(one, other, left.axes):
            self.sides[call] = (0,)
            return left
        if right is not None and broadcasts_to(other, one, right.axes):
            self.sides[call] = (1,)
            return right
        return None


class _BackwardFolder(ScaleFolder):
    """Rewrites values to what they are after scaling, and drops multiplications."""

    def __init__(self, root: Expr) -> None:
        super().__init__(root)
        order = cast("list[Expr]", post_order(root))
        self._offers = _Offers(order)
        self._dropped: dict[Expr, _Dropped] = {}
        self._scaled: dict[Expr, _Dropped] = {}
        self._scales: dict[_Dropped, Scale] = {}
        for node in reversed(order):
            if isinstance(node, Call) and isinstance(node.op, Op):
                self._pass_up(node, node.op.name)

    def _pass_up(self, call: Call, name: str) -> None:
        if name == "multiply":
            self._take(call)
        scaled = self._scaled.get(call)
        if scaled is not None and name in RELUS:
            self._scaled[call.args[0]] = scaled
        elif scaled is not None and name in SUMS:
            for side in self._offers.sides[call]:
                self._scaled[call.args[side]] = scaled

    def _take(self, call: Call) -> None:
        offers = self._offers.found
        found = scaled_side(call, lambda at: offers.get(call.args[at]), call.args)
        if found is not None:
            data, offer = found
            dropped = _Dropped(call, data, offer.axes)
            self._dropped[call] = self._scaled[call.args[data]] = dropped

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children, and the scale that is to be applied."""
        below = super().visited_before(expr)
        scaled = self._scaled.get(expr)
        return below if scaled is None else (*below, scaled.factor)

    def visit_call(self, call: Call) -> Expr:
        if call in self._dropped:
            return self.memo_map[call.args[self._dropped[call].data]]
        new = cast("Call", super().visit_call(call))
        scaled = self._scaled.get(call)
        if scaled is None or cast("Op", call.op).name in RELUS:
            return new
        sides = self._offers.sides.get(call, ())
        if len(sides) == 2:
            return new
        scale = self._scale(scaled)
        if sides:
            return with_other_side(call, new, sides[0], scale, multiply)
        self.count_folded(call)
        return with_scaled_weight(call, new, scale, forward=False)

    def _scale(self, dropped: _Dropped) -> Scale:
        if dropped not in self._scales:
            factor = self.memo_map[dropped.factor]
            self._scales[dropped] = Scale.of(*dropped, factor)
        return self._scales[dropped]


@register_pass("relay._transform.ForwardFoldScaleAxis")
class ForwardFoldScaleAxis(ScaleFoldingPass):
    """Fold channel scales into the weights of the convolutions after them.

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

    Arithmetic on weights alone is then folded. A scale passes through `nn.relu` if it
    is a positive constant. It passes through `add` and `subtract`, whose other side is
    divided by it, if it is a constant without zeros. It moves only if all users take
    it: `nn.dense`, and convolutions that are neither grouped nor depthwise. Only
    float32 and float64 are scaled. Results are equal up to rounding, so constants near
    the ends of their range stay.

    The pass first propagates the demand for scales from users to the values that they
    use, and then moves scales to the users, as TVM's `fold_scale_axis.cc` does. It
    takes linear time.
    """

    pass_info = PassInfo(3, "ForwardFoldScaleAxis", required=("InferType",))
    cacheable = True

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
        self.count_folded(call)
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
        return [demand.with_need(ScaleProperty.POSITIVE)]
    if name in SUMS and demand is not None:
        one, other = call.args
        through = demand.with_need(ScaleProperty.NONZERO)
        if broadcasts_to(one, other, demand.axes):
            return [through, None]
        if broadcasts_to(other, one, demand.axes):
            return [None, through]
        return nothing
    taken = is_foldable(call, forward=True)
    return nothing if taken is None else [taken, None]


@register_pass("relay._transform.FoldScaleAxis")
class FoldScaleAxis(Sequential):
    """Fold channel scales into weights: backward, forward, then fold constants.

    ::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w);
          %1 = nn.relu(%0);
          multiply(%1, 2f)
        }

    becomes::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32]) -> Tensor[(1, 4, 6, 6), float32] {
          %0 = multiply(%w, 2f);
          %1 = nn.conv2d(%x, %0);
          nn.relu(%1)
        }

    See BackwardFoldScaleAxis and ForwardFoldScaleAxis, which run from level 3 on.
    """

    def __init__(self) -> None:
        passes = [BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()]
        super().__init__(passes, name="FoldScaleAxis")
