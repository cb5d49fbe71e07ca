"""What a convolution of images computes, whatever layouts its operands have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from parpass.relay.backend.lowering.template import Source
from parpass.relay.backend.lowering.templates.flat_loops import index
from parpass.relay.backend.lowering.templates.padded_input import Sides
from parpass.relay.op.declaration.layout import Layout, relaid_shape
from parpass.relay.op.nn.windows import window_counts
from parpass.tir.op import add, multiply
from parpass.tir.prim_expr import PrimExpr


class Conv2DShape(NamedTuple):
    """The lengths of a convolution; pairs are of height and width.

    Attributes:
        batch: How many images there are.
        groups: Into how many groups the channels are split.
        inputs: How many input channels a group has.
        outputs: How many output channels a group has.
        image: The lengths of an image.
        kernel: Those of the kernel.
        counts: Those of the result.
        strides: The step from one window to the next.
        dilation: The step from one element of a window to the next.
        before: The padding in front.
    """

    batch: int
    groups: int
    inputs: int
    outputs: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    counts: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]

    @staticmethod
    def of(attrs: Any, sources: Sequence[Source]) -> Conv2DShape:
        """Return what the attributes and the operands of a call say."""
        data, weight = (
            cast("tuple[int, ...]", relaid_shape(source.shape, layout, plain))
            for source, layout, plain in zip(
                sources, _layouts(attrs), ("NCHW", "OIHW"), strict=True
            )
        )
        image, kernel = (data[2], data[3]), (weight[2], weight[3])
        counts = window_counts(image, kernel, attrs)
        return Conv2DShape(
            *(data[0], attrs.groups, weight[1], weight[0] // attrs.groups),
            *(image, kernel, (counts[0], counts[1])),
            *(attrs.strides, attrs.dilation, attrs.padding[:2]),
        )

    @property
    def extents(self) -> tuple[int, int]:
        """How much of a padded image all windows see together."""
        height, width = (
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts, self.strides, self.kernel, self.dilation, strict=True
            )
        )
        return height, width

    @property
    def sides(self) -> tuple[Sides, Sides] | None:
        """What is around an image that windows see; None for nothing."""
        sizes = zip(self.image, self.before, self.extents, strict=True)
        height, width = (Sides.of(*size) for size in sizes)
        is_bare = height.is_bare and width.is_bare
        return None if is_bare else (height, width)

    def seen(self, place: PrimExpr, inside: PrimExpr, axis: int) -> PrimExpr:
        """Return which row (axis 0) or column of a padded image is seen.

        Args:
            place: The row or column of the result.
            inside: That of the kernel.
            axis: 0 for rows, 1 for columns.
        """
        return add(
            multiply(place, index(self.strides[axis])),
            multiply(inside, index(self.dilation[axis])),
        )


def _layouts(attrs: Any) -> tuple[str, str]:
    return attrs.data_layout, attrs.kernel_layout


def channel_block(layout: str) -> int | None:
    """Return how many channels are together in `NCHW` or `NCHW16c`; None in others."""
    found = Layout.of(layout)
    if found.axes == tuple("NCHW"):
        return 1
    return found.blocks[4] if found.axes == tuple("NCHWc") else None
