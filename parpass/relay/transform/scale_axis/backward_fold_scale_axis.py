"""BackwardFoldScaleAxis: scales move up, into the weights of what they scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.op import multiply
from parpass.relay.transform.scale_axis import (
    Demand,
    Need,
    along_axes,
    broadcasts_to,
    is_foldable,
    is_known_as,
    scaled_weight,
    squeezed,
    tensor_type,
)
from parpass.relay.transform.scale_axis.scale import common
from parpass.relay.transform.typed import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)

_RELUS = frozenset({"nn.relu", "nn.leaky_relu"})
_SUMS = frozenset({"add", "subtract"})


@register_pass("relay._transform.BackwardFoldScaleAxis")
class BackwardFoldScaleAxis(FunctionPass):
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

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with scales folded backward."""
        folder = _BackwardFolder(typed_function(func, mod))
        result = folder.folded()
        if folder.count:
            ctx.count("folded", folder.count)
        return cast("Function", result)


def backward_fold_scale_axis(expr: ExprT) -> ExprT:
    """Return a typed expression with scales folded; see `BackwardFoldScaleAxis`.

    Raises:
        UntypedError: InferType has not run on the expression.
    """
    return cast("ExprT", _BackwardFolder(expr).folded())


class _Scale(NamedTuple):
    """The factor of a multiplication that is to be dropped.

    Attributes:
        call: The multiplication.
        factor: Which of its arguments is the scale.
        axes: The axes of the other argument that are scaled.
    """

    call: Call
    factor: int
    axes: tuple[int, ...]


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
        if name in _RELUS:
            given = self.found.get(call.args[0])
            return given and given.with_need(Need.POSITIVE)
        if name in _SUMS:
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


class _BackwardFolder(ExprMutator):
    """Rewrites values to what they are after scaling, and drops multiplications."""

    def __init__(self, root: Expr) -> None:
        super().__init__()
        self.count = 0
        self._root = root
        order = cast("list[Expr]", post_order(root))
        self._offers = _Offers(order)
        self._dropped: dict[Expr, int] = {}
        self._scales: dict[Expr, _Scale] = {}
        self._squeezed: dict[Call, Expr] = {}
        for node in reversed(order):
            if isinstance(node, Call) and isinstance(node.op, Op):
                self._pass_up(node, node.op.name)

    def folded(self) -> Expr:
        return self.visit(self._root)

    def _pass_up(self, call: Call, name: str) -> None:
        if name == "multiply":
            self._take(call)
        scale = self._scales.get(call)
        if scale is not None and name in _RELUS:
            self._scales[call.args[0]] = scale
        elif scale is not None and name in _SUMS:
            for side in self._offers.sides[call]:
                self._scales[call.args[side]] = scale

    def _take(self, call: Call) -> None:
        for data, factor in ((0, 1), (1, 0)):
            of, by = call.args[data], call.args[factor]
            offer = self._offers.found.get(of)
            if offer is None or not broadcasts_to(of, by, offer.axes):
                continue
            if is_known_as(by, offer.need):
                self._dropped[call] = data
                self._scales[of] = _Scale(call, factor, offer.axes)
                return

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children, and the scale that is to be applied."""
        below = super().visited_before(expr)
        scale = self._scales.get(expr)
        return below if scale is None else (*below, scale.call.args[scale.factor])

    def visit_call(self, call: Call) -> Expr:
        if call in self._dropped:
            return self.memo_map[call.args[self._dropped[call]]]
        new = cast("Call", super().visit_call(call))
        scale = self._scales.get(call)
        if scale is None or cast("Op", call.op).name in _RELUS:
            return new
        value, is_scalar = self._value(scale)
        args = list(new.args)
        if call in self._offers.sides:
            sides = self._offers.sides[call]
            if len(sides) == 2:
                return new
            found = tensor_type(call.args[sides[0]])
            assert found is not None
            by = along_axes(value, is_scalar, found.shape, scale.axes)
            args[1 - sides[0]] = multiply(args[1 - sides[0]], by)
        else:
            self.count += 1
            args[1] = scaled_weight(
                call, args[1], value, is_scalar=is_scalar, forward=False
            )
        return Call(new.op, tuple(args), new.attrs, new.type_args, new.span)

    def _value(self, scale: _Scale) -> tuple[Expr, bool]:
        """Return a scale, with one dimension for each axis, and if it is a scalar."""
        call = scale.call
        old = call.args[scale.factor]
        if call not in self._squeezed:
            data = call.args[1 - scale.factor]
            new = self.memo_map[old]
            self._squeezed[call] = squeezed(new, old, data, scale.axes)
        found = tensor_type(old)
        return self._squeezed[call], found is not None and not found.shape
