"""FoldExplicitPadding: convolutions pad their data themselves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from parpass.ir.module import IRModule
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Constant, Expr, Function
from parpass.relay.op.declaration.layout import Layout
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.simplify.peephole import Peephole, Rule
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.FoldExplicitPadding")
class FoldExplicitPadding(FunctionPass):
    """Put zeros around the data of a convolution into its attribute.

    ::

        def @main(%x: Tensor[(1, 2, 4, 4), float32], \
%w: Tensor[(3, 2, 3, 3), float32]) {
          %0 = nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);
          nn.conv2d(%0, %w)
        }

    becomes::

        def @main(%x: Tensor[(1, 2, 4, 4), float32], \
%w: Tensor[(3, 2, 3, 3), float32]) -> Tensor[(1, 3, 4, 4), float32] {
          nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
        }

    Other values than zero stay, as do edges and reflections, and what is put around
    channels or batches. It gives the same bits.
    """

    pass_info = PassInfo(0, "FoldExplicitPadding", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with padding folded."""
        with Evaluator.of(func, ctx) as evaluator:
            peephole = Peephole(_RULES, evaluator, mod)
            result = peephole.run(typed_function(func, mod))
        if peephole.applied:
            ctx.count("folded", peephole.applied)
        return result


def _fold(peephole: Peephole, call: Call) -> Expr | None:
    pad = call.args[0]
    if not isinstance(pad, Call) or not _puts_zeros(pad):
        return None
    layout = Layout.of(call.attrs.data_layout)
    if any(layout.blocks):
        return None
    widths = dict(zip(layout.axes, pad.attrs.pad_width, strict=True))
    spatial = [axis for axis in layout.axes if axis not in "NC"]
    if any(widths[axis] != (0, 0) for axis in "NC"):
        return None
    more = [widths[axis][side] for side in (0, 1) for axis in sorted(spatial)]
    padding = tuple(map(sum, zip(call.attrs.padding, more, strict=True)))
    attrs = replace(call.attrs, padding=padding)
    new = Call(call.op, (pad.args[0], *call.args[1:]), attrs)
    return peephole.instead_of(call, new)


def _puts_zeros(pad: Call) -> bool:
    if not isinstance(pad.op, Op) or pad.op.name != "nn.pad":
        return False
    value = pad.args[1]
    if pad.attrs.pad_mode != "constant" or not isinstance(value, Constant):
        return False
    if any(width < 0 for pair in pad.attrs.pad_width for width in pair):
        return False
    return not value.data.numpy().any()


_RULES: dict[str, Sequence[Rule]] = dict.fromkeys(
    ("nn.conv1d", "nn.conv2d", "nn.conv3d"), (_fold,)
)
