"""Convolutions of each channel by itself in blocked layouts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.depthwise_conv import depthwise_conv
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.nn.conv import Conv2DAttrs
from tests.relay.backend.lowering.templates.template_kernels import (
    CONV_ATTRS,
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples

STRIDES = st.sampled_from([1, 2, 3, 9])


def kernel(
    *,
    image: tuple[int, ...] = (6, 9),
    channels: int = 16,
    lanes: int = 8,
    size: tuple[int, ...] = (3, 3),
    batch: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel."""
    axes = len(image)
    attrs["data_layout"] = f"NC{SPATIAL[axes]}{lanes}c"
    attrs["kernel_layout"] = f"OI{SPATIAL[axes]}1i{lanes}o"
    made = CONV_ATTRS[axes](groups=channels, **attrs)
    data = (batch, channels // lanes, *image, lanes)
    weight = (channels // lanes, 1, *size, 1, lanes)
    name = "nn.contrib_depthwise_conv2d_NCHWc" if axes == 2 else f"nn.conv{axes}d"
    return TemplateKernel(depthwise_conv, name, made, data, weight, dtype=dtype)


CASES: list[dict[str, Any]] = [
    {"padding": (1, 1, 1, 1)},
    {"lanes": 16, "batch": 2, "image": (5, 67), "strides": (2, 2)},
    {"batch": 2, "image": (3, 4)},
    {"image": (19, 1), "size": (3, 1), "padding": (1, 0, 2, 0), "strides": (2, 1)},
    {"dilation": (2, 3), "image": (7, 8), "padding": (0, 2, 1, 3), "dtype": "float64"},
    {"image": (33,), "size": (5,), "padding": (2, 2), "strides": (2,)},
    {"image": (3, 4, 9), "size": (2, 3, 3), "padding": (1, 1, 0, 0, 1, 2)},
]


@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_convolution(case: dict[str, Any]):
    kernel(**case).check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    small: dict[str, Any] = {"image": (3, 2), "channels": 4, "lanes": 2}
    kernel(**small, padding=(1, 0, 1, 1), size=(2, 2), strides=(1, 2)).interpret()


def test_other_layouts_are_for_others():
    attrs = Conv2DAttrs(groups=4)
    shapes = (1, 4, 5, 5), (4, 1, 3, 3)
    made = TemplateKernel(depthwise_conv, "nn.conv2d", attrs, *shapes)
    assert made.function("llvm") is None


@pytest.mark.stress
@given(axes=st.integers(1, 3), target=st.sampled_from(TARGETS), data=st.data())
@examples(5)
def test_any_convolution_is_computed(axes: int, target: str, data: st.DataObject):
    def each(lengths: st.SearchStrategy[int], count: int = axes) -> tuple[int, ...]:
        return data.draw(st.tuples(*[lengths] * count))

    lanes = data.draw(st.sampled_from([2, 4, 8, 16]))
    kernel(
        image=(*each(st.integers(6, 12), axes - 1), data.draw(st.integers(6, 80))),
        size=each(st.integers(1, 3)),
        lanes=lanes,
        channels=2 * lanes,
        strides=each(STRIDES),
        dilation=each(st.integers(1, 2)),
        padding=each(st.integers(0, 2), 2 * axes),
    ).check(target)
