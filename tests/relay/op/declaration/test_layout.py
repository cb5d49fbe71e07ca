from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.relay.op import TypeRelationError
from parpass.relay.op.declaration.layout import (
    Layout,
    layout_of,
    transform_layout,
    transformed_shape,
)
from tests.support.profiles import examples

UNKNOWN = UnknownDim()


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """Return a layout of the axes N, C, H and W, with blocks of 2 and 3."""
    parts = ["N", "C", "H", "W"]
    for axis in draw(st.sets(st.sampled_from("CHW"))):
        block = draw(st.sampled_from([2, 3]))
        parts.append(f"{block}{axis.lower()}")
    return "".join(draw(st.permutations(parts)))


@given(layouts(), layouts())
@examples(3)
def test_there_and_back_is_the_same_and_the_shape_is_foreseen(
    one: str, other: str
) -> None:
    start = np.arange(2 * 6 * 6 * 6).reshape(2, 6, 6, 6)
    here = transform_layout(start, "NCHW", one)
    there = transform_layout(here, one, other)
    assert there.shape == transformed_shape(here.shape, one, other)
    np.testing.assert_array_equal(transform_layout(there, other, "NCHW"), start)


def test_a_block_counts_through_what_belongs_together() -> None:
    start = np.arange(12).reshape(1, 6, 2)
    blocked = transform_layout(start, "NCW", "NCW3c")
    assert blocked.shape == (1, 2, 2, 3)
    assert blocked[0, 1, 0].tolist() == start[0, 3:6, 0].tolist()


def test_unknown_dimensions_pass_through() -> None:
    shape = (UNKNOWN, 6, UNKNOWN, 5)
    assert transformed_shape(shape, "NCHW", "NHWC2c") == (UNKNOWN, UNKNOWN, 5, 3, 2)
    unknown_channels = transformed_shape((1, UNKNOWN, 4, 5), "NCHW", "NCHW2c")
    assert unknown_channels == (1, UNKNOWN, 4, 5, 2)


def test_a_layout_tells_its_axes_and_blocks() -> None:
    layout = Layout.of("OIHW4i8o")
    assert layout.primal == "OIHW"
    assert (layout.block("O"), layout.block("I"), layout.block("H")) == (8, 4, 1)
    assert layout.has("HWIO")


@pytest.mark.parametrize("name", ["", "NN", "NC3h", "NC4", "nchw", "NC-4c", "NC04c"])
def test_what_is_no_layout_is_rejected(name: str) -> None:
    with pytest.raises(IRTypeError, match="expected a layout such as 'NCHW'"):
        Layout.of(name)


def test_a_layout_of_other_axes_is_rejected() -> None:
    with pytest.raises(IRTypeError, match="expected a layout of NCHW for layout, got"):
        layout_of("NCDHW", "NCHW", "layout")
    with pytest.raises(TypeRelationError, match="layouts of the same axes, got"):
        transformed_shape((1, 2, 3), "NCW", "NCH")


@pytest.mark.parametrize(
    ("shape", "source", "target", "words"),
    [
        ((1, 2), "NCW", "NCW", "expected a shape of layout NCW, got (1, 2)"),
        ((1, 2, 3, 5), "NCW4c", "NCW", "expected a shape of layout NCW4c, got (1, 2"),
        ((1, 6, 3), "NCW", "NCW4c", "expected a length of axis C that 4 divides for"),
    ],
)
def test_a_shape_that_does_not_fit_is_rejected(
    shape: tuple[int, ...], source: str, target: str, words: str
) -> None:
    with pytest.raises(TypeRelationError) as caught:
        transformed_shape(shape, source, target)
    assert str(caught.value).startswith(words)
