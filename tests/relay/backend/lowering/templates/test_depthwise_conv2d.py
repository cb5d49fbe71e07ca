"""Convolutions of each channel by itself in blocked layouts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.depthwise_conv2d import depthwise_conv2d
from parpass.relay.op.nn.conv import Conv2DAttrs
from tests.relay.backend.lowering.templates.template_kernels import (
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples

STRIDES = st.sampled_from([1, 2, 3, 9])
NAME = "nn.contrib_depthwise_conv2d_NCHWc"


def kernel(
    *,
    image: tuple[int, int] = (6, 9),
    channels: int = 16,
    lanes: int = 8,
    size: tuple[int, int] = (3, 3),
    batch: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel."""
    layouts = {"data_layout": f"NCHW{lanes}c", "kernel_layout": f"OIHW1i{lanes}o"}
    made = Conv2DAttrs(groups=channels, **layouts, **attrs)
    data = (batch, channels // lanes, *image, lanes)
    weight = (channels // lanes, 1, *size, 1, lanes)
    return TemplateKernel(depthwise_conv2d, NAME, made, data, weight, dtype=dtype)


CASES: list[dict[str, Any]] = [
    {"padding": (1, 1, 1, 1)},
    {"lanes": 16, "batch": 2, "image": (5, 67), "strides": (2, 2)},
    {"batch": 2, "image": (3, 4)},
    {"dilation": (2, 3), "image": (7, 8), "padding": (0, 2, 1, 3), "dtype": "float64"},
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
    made = TemplateKernel(depthwise_conv2d, "nn.conv2d", attrs, *shapes)
    assert made.function("llvm") is None


@pytest.mark.stress
@given(
    image=st.tuples(st.integers(6, 12), st.integers(6, 80)),
    size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    lanes=st.sampled_from([2, 4, 8, 16]),
    strides=st.tuples(STRIDES, STRIDES),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    target=st.sampled_from(TARGETS),
)
@examples(5)
def test_any_convolution_is_computed(lanes: int, target: str, **case: Any):
    kernel(lanes=lanes, channels=2 * lanes, **case).check(target)
