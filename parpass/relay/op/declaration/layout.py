"""Layouts: the meaning of each dimension of a tensor, such as `NCHW` or `NCHW16c`.

A capital letter is an axis. A number and the small letter are a block of that axis,
stored as a dimension of its own: in `NCHW16c` the channels are C * 16, of which the
last dimension counts 16 that are adjacent.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import msgspec
import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim
from parpass.relay.op.declaration.type_relations import Shape, product, shape_text

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The axes of a signal, an image and a volume, by their number."""


class Layout(msgspec.Struct, frozen=True):
    """A layout, parsed from its name.

    Attributes:
        name: The name, such as `OIHW4i8o`.
        axes: The letter of each dimension; a small one is a block.
        blocks: The block length of each dimension; 0 for an axis itself.
        primal: The axes alone, in their order: `NCHW` of `NCHW16c`.
        inner: The product of the block lengths of each axis, 1 where it has none.
    """

    name: str
    axes: tuple[str, ...]
    blocks: tuple[int, ...]
    primal: str
    inner: Mapping[str, int]

    @staticmethod
    def of(name: str) -> Layout:
        """Return the layout of that name.

        Raises:
            IRTypeError: It is not a layout: an axis or a block occurs twice, or a block
                has no axis.
        """
        return _parse(name)

    def index(self, axis: str) -> int:
        """Return the dimension of an axis."""
        return self.axes.index(axis)

    def has(self, axes: str) -> bool:
        """Return whether the axes are these, in any order."""
        return sorted(self.primal) == sorted(axes)

    def block(self, axis: str) -> int:
        """Return the product of an axis's block lengths; 1 where it has none."""
        return self.inner.get(axis.upper(), 1)

    def shape_of(self, dims: dict[str, Dim]) -> Shape:
        """Return the shape of a tensor in this layout whose axes have these lengths.

        Raises:
            TypeRelationError: A block does not divide its axis.
        """
        shape: list[Dim] = []
        for axis, block in zip(self.axes, self.blocks, strict=True):
            dim: Dim = block or dims[axis]
            inner = 1 if block else self.inner[axis]
            if isinstance(dim, int) and inner > 1:
                if dim % inner:
                    raise TypeRelationError(
                        f"expected a length of axis {axis} that {inner} divides for "
                        f"layout {self.name}, got {dim}"
                    )
                dim //= inner
            shape.append(dim)
        return tuple(shape)

    def require_fit(self, shape: Shape) -> None:
        """Reject a shape that is not valid in this layout."""
        fits = len(shape) == len(self.axes) and all(
            not block or isinstance(dim, UnknownDim) or dim == block
            for dim, block in zip(shape, self.blocks, strict=True)
        )
        if not fits:
            raise TypeRelationError(
                f"expected a shape of layout {self.name}, got {shape_text(shape)}"
            )

    def dims_of(self, shape: Shape) -> dict[str, Dim]:
        """Return the lengths of the axes of a tensor in this layout.

        Raises:
            TypeRelationError: The shape has a wrong rank, or a wrong block length.
        """
        self.require_fit(shape)
        return {
            axis: product((dim, self.inner[axis]))
            for axis, dim in zip(self.axes, shape, strict=True)
            if axis in self.inner
        }


@functools.cache
def _parse(name: str) -> Layout:
    parts = re.findall(r"([A-Z])|([1-9][0-9]*)([a-z])", name)
    axes = tuple(axis or block for axis, _, block in parts)
    blocks = tuple(int(size or 0) for _, size, _ in parts)
    capitals = [axis for axis in axes if axis.isupper()]
    is_layout = (
        len(set(axes)) == len(axes) > 0
        and "".join(f"{size or ''}{at}" for at, size in zip(axes, blocks, strict=True))
        == name
        and all(axis.upper() in capitals for axis in axes)
    )
    if not is_layout:
        raise IRTypeError(f"expected a layout such as 'NCHW' or 'NCHW4c', got {name!r}")
    sizes = dict(zip(axes, blocks, strict=True))
    inner = {axis: sizes.get(axis.lower(), 1) for axis in capitals}
    return Layout(name, axes, blocks, "".join(capitals), inner)


def layout_of(name: str, axes: str, what: str) -> str:
    """Return the name of a layout that has the required axes, in any order.

    Raises:
        IRTypeError: It has others, or is not a layout.
    """
    if not Layout.of(name).has(axes):
        raise IRTypeError(f"expected a layout of {axes} for {what}, got {name!r}")
    return name


def transformed_shape(shape: Shape, source: str, target: str) -> Shape:
    """Return the shape of a tensor in another layout.

    Raises:
        TypeRelationError: The layouts have different axes, or do not fit the shape.
    """
    if source == target:
        layout = _parse(source)
        if len(shape) != len(layout.axes) or any(layout.blocks):
            layout.require_fit(shape)
        return shape  # the common case: relations run at every call
    _require_same_axes(source, target)
    return Layout.of(target).shape_of(Layout.of(source).dims_of(shape))


def transform_layout(array: Array, source: str, target: str) -> Array:
    """Return an array in another layout."""
    if source == target:
        return array
    _require_same_axes(source, target)
    old, new = Layout.of(source), Layout.of(target)
    order = [at for axis in new.primal for at in _parts(old, axis)]
    array = array.transpose(order).reshape(
        [array.shape[old.index(axis)] * old.block(axis) for axis in new.primal]
    )
    split: list[int] = []
    grouped: list[int] = []  # the dimensions of `new`, blocks behind their axes
    for axis, dim in zip(new.primal, array.shape, strict=True):
        parts = _parts(new, axis)
        grouped += parts
        split += [dim // new.block(axis), *(new.blocks[at] for at in parts[1:])]
    return array.reshape(split).transpose(np.argsort(grouped))


def _parts(layout: Layout, axis: str) -> list[int]:
    """Return the dimensions of an axis and of its blocks, in this order."""
    lower = [at for at, name in enumerate(layout.axes) if name == axis.lower()]
    return [layout.index(axis), *lower]


def _require_same_axes(source: str, target: str) -> None:
    if not Layout.of(source).has(Layout.of(target).primal):
        raise TypeRelationError(
            f"expected layouts of the same axes, got '{source}' and '{target}'"
        )
