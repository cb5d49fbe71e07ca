"""FoldScaleAxis: scales of channels are folded into weights, in both directions."""

from __future__ import annotations

from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.scale_axis.backward_fold_scale_axis import (
    BackwardFoldScaleAxis,
)
from parpass.relay.transform.scale_axis.forward_fold_scale_axis import (
    ForwardFoldScaleAxis,
)
from parpass.transform import Sequential, register_pass


@register_pass("relay._transform.FoldScaleAxis")
class FoldScaleAxis(Sequential):
    """Fold the scales of channels into weights: backward, forward, then constants.

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
