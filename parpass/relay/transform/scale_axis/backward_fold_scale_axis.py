"""BackwardFoldScaleAxis: scales move up, into the weights of what they scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op import multiply
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


@register_pass("relay._transform.BackwardFoldScaleAxis")
class BackwardFoldScaleAxis(ScaleFoldingPass):
    """Fold the scales of channels into the weights of the convolutions before them.

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

    What depends on weights only is then folded: of a batch normalisation behind a
    convolution an addition is left. A scale passes `nn.relu` if it is a positive
    constant; `add` and `subtract` pass it to both sides, or multiply one. It moves only
    through values that are used once. Only floats are scaled; results are equal up to
    rounding, so constants near the ends of their range stay.

    First values say which scale they could take, from the convolutions on, then scales
    are passed up, as in TVM's `fold_scale_axis.cc`. Linear.
    """

    pass_info = PassInfo(3, "BackwardFoldScaleAxis", required=("InferType",))

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
    """Which scale each value could take.

    Attributes:
        found: The scale, where there is one.
        sides: To which arguments an addition passes it.
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
            return given and given.with_need(Need.POSITIVE)
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
        self.count += 1
        return with_scaled_weight(call, new, scale, forward=False)

    def _scale(self, dropped: _Dropped) -> Scale:
        if dropped not in self._scales:
            factor = self.memo_map[dropped.factor]
            self._scales[dropped] = Scale.of(*dropped, factor)
        return self._scales[dropped]
