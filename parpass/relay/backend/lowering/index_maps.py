"""Maps from indices to indices: between shapes and layouts, and of sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parpass.relay.backend.lowering.rule_registry import Indices, NoRuleError, Source
from parpass.relay.op.declaration.layout import Layout, transformed_shape
from parpass.relay.op.nn.windows import Sliding
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import IntImm, PrimExpr, Select


def broadcast_at(source: Source, indices: Indices) -> PrimExpr:
    """Return the element that broadcasting has at indices: axes count from the last."""
    last = indices[len(indices) - len(source.shape) :]
    pairs = zip(last, source.shape, strict=True)
    return source.at([one if dim != 1 else zero_like(one) for one, dim in pairs])


def zero_like(index: PrimExpr) -> PrimExpr:
    """Return the index 0, in the dtype of an index."""
    return IntImm(index.dtype, 0)


def flat(indices: Indices, shape: Sequence[int]) -> PrimExpr:
    """Return at which place of all an element is, row by row."""
    found: PrimExpr = zero_like(indices[0]) if indices else IntImm("int32", 0)
    for index, dim in zip(indices, shape, strict=True):
        found = found * dim + index
    return found


def unflat(place: PrimExpr, shape: Sequence[int]) -> list[PrimExpr]:
    """Return the indices of the element at a place; see `flat`."""
    found: list[PrimExpr] = []
    for dim in reversed(shape[1:]):
        found.append(op.floormod(place, dim) if dim > 1 else zero_like(place))
        place = op.floordiv(place, dim) if dim > 1 else place
    return [place, *reversed(found)] if shape else []


def reshaped(
    indices: Indices, new: Sequence[int], old: Sequence[int]
) -> list[PrimExpr]:
    """Return indices of a shape as those of a shape with as many elements.

    Dimensions that are in both are left as they are.
    """
    if 0 in new:  # there is no element, so nobody looks
        return [IntImm("int32", 0) for _ in old]
    found: list[PrimExpr] = []
    i = j = 0
    while i < len(new) or j < len(old):
        first_i, first_j = i, j
        i, j = min(i + 1, len(new)), min(j + 1, len(old))
        while math.prod(new[first_i:i]) != math.prod(old[first_j:j]):
            if math.prod(new[first_i:i]) < math.prod(old[first_j:j]):
                i += 1
            else:
                j += 1
        part = indices[first_i:i]
        if i - first_i == j - first_j == 1:
            found += part
        elif j > first_j:
            found += unflat(flat(part, new[first_i:i]), old[first_j:j])
    return found


def transformed_indices(indices: Indices, layout: str, source: str) -> list[PrimExpr]:
    """Return indices in `layout` as those of the same element in layout `source`."""
    if layout == source:
        return list(indices)
    return layout_indices(axis_values(indices, layout), source)


def axis_values(indices: Indices, layout: str) -> dict[str, PrimExpr]:
    """Return how far along each axis indices in a layout are, blocks or not."""
    known = Layout.of(layout)
    found: dict[str, PrimExpr] = {}
    for axis in known.primal:
        found[axis] = indices[known.index(axis)]
        if axis.lower() in known.axes:
            inner = known.index(axis.lower())
            found[axis] = found[axis] * known.blocks[inner] + indices[inner]
    return found


def layout_indices(values: dict[str, PrimExpr], layout: str) -> list[PrimExpr]:
    """Return the indices in a layout of what is so far along each axis."""
    known = Layout.of(layout)
    found: list[PrimExpr] = []
    for axis, block in zip(known.axes, known.blocks, strict=True):
        value = values[axis.upper()]
        if block:
            found.append(_rest(value, block))
        else:
            found.append(_whole(value, known.block(axis)))
    return found


def _whole(value: PrimExpr, block: int) -> PrimExpr:
    return op.floordiv(value, block) if block > 1 else value


def _rest(value: PrimExpr, block: int) -> PrimExpr:
    return op.floormod(value, block) if block > 1 else zero_like(value)


def axis_lengths(shape: Sequence[int], layout: str, order: str) -> tuple[int, ...]:
    """Return how long the axes of a tensor in a layout are, in an order of them."""
    dims = transformed_shape(tuple(shape), layout, order)
    return tuple(dim for dim in dims if isinstance(dim, int))


def clipped(index: PrimExpr, length: int) -> PrimExpr:
    """Return an index of data as one from 0 up to a length, the nearest there is."""
    wide = _in_int64(index, length)
    return op.cast_to(op.maximum(op.minimum(wide, length - 1), 0), "int32")


def wrapped(index: PrimExpr, length: int) -> PrimExpr:
    """Return an index of data as one from 0 up to a length, modulo that."""
    return op.cast_to(op.floormod(_in_int64(index, length), length), "int32")


def counted(index: PrimExpr, length: int) -> PrimExpr:
    """Return an index of data, where negative ones count from the end, as numpy does.

    Of others that are out of range, for which numpy has an error, it is the nearest.
    """
    wide = _in_int64(index, length)
    return clipped(Select(wide < 0, wide + length, wide), length)


def _in_int64(index: PrimExpr, length: int) -> PrimExpr:
    if length < 1:
        raise NoRuleError("an index into what has no elements")
    if length >= 2**31 or data_type(index.dtype) == data_type("uint64"):
        raise NoRuleError(f"indices of {index.dtype} into {length} elements")
    return op.cast_to(index, "int64")


class WindowElement(NamedTuple):
    """An element of a window.

    Attributes:
        places: Where it is along each axis of the image.
        conditions: What has to hold for it to be inside; none where it always is.
    """

    places: list[PrimExpr]
    conditions: list[PrimExpr]

    def if_inside(self, value: PrimExpr, otherwise: PrimExpr) -> PrimExpr:
        """Return a value that is looked at only if the element is inside."""
        if not self.conditions:
            return value
        return op.if_then_else(op.all(*self.conditions), value, otherwise)


def window_element(
    how: Sliding,
    window: Indices,
    within: Indices,
    image: Sequence[int],
    counts: Sequence[int],
    size: Sequence[int],
) -> WindowElement:
    """Return where an element of a window is.

    Args:
        how: How windows slide.
        window: Which window it is, along each axis.
        within: Which element of it.
        image: The lengths of the axes.
        counts: How many windows there are along each axis.
        size: The lengths of the window.
    """
    places: list[PrimExpr] = []
    conditions: list[PrimExpr] = []
    for axis, (at, k) in enumerate(zip(window, within, strict=True)):
        before, stride, step = how.padding[axis], how.strides[axis], how.dilation[axis]
        place = op.subtract(op.add(at * stride, k * step), before)
        places.append(place)
        if before:
            conditions.append(place >= 0)
        last = (counts[axis] - 1) * stride + (size[axis] - 1) * step - before
        if last >= image[axis]:
            conditions.append(place < image[axis])
    return WindowElement(places, conditions)
