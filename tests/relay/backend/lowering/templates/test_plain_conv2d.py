"""Convolutions in NCHW: pixels of a row are a vector."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.plain_conv2d import plain_conv2d
from parpass.relay.op.nn.conv import Conv2DAttrs
from tests.relay.backend.lowering.templates.template_kernels import (
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples

STRIDES = st.sampled_from([1, 2, 3, 9])


def kernel(
    *,
    image: tuple[int, int] = (5, 9),
    channels: tuple[int, int] = (3, 5),
    size: tuple[int, int] = (3, 3),
    batch: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel."""
    made = Conv2DAttrs(groups=groups, **attrs)
    data = (batch, channels[0], *image)
    weight = (channels[1], channels[0] // groups, *size)
    return TemplateKernel(plain_conv2d, "nn.conv2d", made, data, weight, dtype=dtype)


CASES: list[dict[str, Any]] = [
    {"padding": (1, 1, 1, 1)},
    {"image": (3, 37), "size": (1, 1), "channels": (7, 17), "batch": 2},
    {"groups": 3, "channels": (6, 9), "strides": (2, 2), "padding": (0, 1, 1, 2)},
    {"groups": 5, "channels": (5, 5), "dilation": (2, 2), "image": (7, 40)},
    {"size": (1, 1), "strides": (9, 9), "padding": (2, 3, 2, 3)},
    {"dtype": "float64", "size": (2, 3), "image": (4, 20)},
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_convolution(case: dict[str, Any]):
    kernel(**case).check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(image=(2, 5), channels=(2, 3), size=(2, 2), padding=(1, 0, 0, 1)).interpret()
    kernel(image=(2, 7), channels=(2, 2), size=(1, 2), strides=(1, 2)).interpret()


@pytest.mark.stress
@given(
    image=st.tuples(st.integers(6, 12), st.integers(6, 80)),
    size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    groups=st.integers(1, 3),
    per_group=st.tuples(st.integers(1, 5), st.integers(1, 17)),
    strides=st.tuples(STRIDES, STRIDES),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    target=st.sampled_from(TARGETS),
)
@examples(5)
def test_any_convolution_is_computed(
    groups: int, per_group: tuple[int, int], target: str, **case: Any
):
    channels = (groups * per_group[0], groups * per_group[1])
    kernel(groups=groups, channels=channels, **case).check(target)
