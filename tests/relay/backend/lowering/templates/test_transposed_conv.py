"""Transposed convolutions in NCHW and the like: the phases of a row at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.transposed_conv import transposed_conv
from parpass.relay.op.nn.conv_transpose import (
    Conv1DTransposeAttrs,
    Conv2DTransposeAttrs,
    Conv3DTransposeAttrs,
)
from tests.relay.backend.lowering.templates.template_kernels import (
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples

ATTRS = {1: Conv1DTransposeAttrs, 2: Conv2DTransposeAttrs, 3: Conv3DTransposeAttrs}


def kernel(
    *,
    image: tuple[int, ...] = (5, 9),
    channels: tuple[int, int] = (3, 5),
    size: tuple[int, ...] = (3, 3),
    batch: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel."""
    axes = len(image)
    made = ATTRS[axes](groups=groups, **attrs)
    data = (batch, channels[0], *image)
    weight = (channels[0], channels[1] // groups, *size)
    name = f"nn.conv{axes}d_transpose"
    return TemplateKernel(transposed_conv, name, made, data, weight, dtype=dtype)


CASES: dict[str, dict[str, Any]] = {
    "no stride": {"padding": (1, 0, 1, 2)},
    "one column": {
        "image": (19, 1),
        "size": (3, 1),
        "padding": (1, 0, 2, 0),
        "strides": (2, 1),
    },
    "a kernel as long as the stride": {"size": (2, 2), "strides": (2, 2)},
    "rows that end within their phases": {
        "image": (4, 40),
        "strides": (2, 2),
        "padding": (1, 1, 1, 1),
    },
    "additional length": {
        "image": (4, 17),
        "strides": (2, 3),
        "padding": (1, 1, 1, 1),
        "output_padding": (1, 2),
        "batch": 2,
    },
    "groups": {
        "groups": 2,
        "channels": (4, 6),
        "size": (4, 4),
        "strides": (2, 2),
        "padding": (1, 1, 1, 1),
    },
    "each channel by itself": {"groups": 5, "channels": (5, 5), "strides": (2, 2)},
    "dilation": {"dilation": (2, 3), "strides": (3, 2), "size": (2, 3)},
    "phases that see nothing": {"dilation": (2, 4), "strides": (4, 2), "size": (2, 2)},
    "a stride longer than the kernel": {"strides": (3, 4), "size": (2, 1)},
    "more padding than the kernel reaches": {
        "image": (6, 12),
        "size": (2, 2),
        "padding": (3, 2, 3, 4),
        "strides": (2, 2),
    },
    "a signal": {"image": (37,), "size": (16,), "strides": (8,), "padding": (4, 4)},
    "more phases than registers": {"image": (5,), "size": (40,), "strides": (40,)},
    "a volume": {
        "image": (2, 3, 9),
        "size": (2, 3, 4),
        "strides": (1, 2, 2),
        "padding": (0, 1, 1, 1, 0, 1),
    },
    "float64": {"dtype": "float64", "size": (4, 4), "strides": (2, 2)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_machine_code_computes_the_convolution(name: str):
    kernel(**CASES[name]).check(TARGETS[0])


SMALL: list[dict[str, Any]] = [
    {"size": (2, 2), "strides": (2, 2)},
    {"size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    {"size": (2, 2), "strides": (1, 2), "dilation": (2, 2), "output_padding": (0, 1)},
    {"image": (5,), "size": (3,), "strides": (2,), "padding": (1, 2)},
    {"image": (1, 2, 2), "size": (1, 2, 2), "strides": (1, 1, 2)},
]


@pytest.mark.slow
@pytest.mark.parametrize("small", SMALL)
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote(small: dict[str, Any]):
    smallest: dict[str, Any] = {"image": (2, 3), "channels": (1, 2)}
    kernel(**{**smallest, **small}).interpret()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_zeros_between_elements_are_multiplied_by_weights_that_are_not_finite(
    value: float,
):
    made = kernel(size=(3, 3), strides=(2, 2), groups=1, channels=(2, 3))
    made.arrays[1][1, 2, 0, 1] = value
    with np.errstate(invalid="ignore"):
        made.compute_again()
    wanted = made.expected
    assert np.isnan(wanted[:, 2]).any()
    assert np.isfinite(wanted[:, :2]).all()
    made.check(TARGETS[0])


def test_other_layouts_and_dtypes_are_for_others():
    shapes = (1, 5, 5, 4), (4, 4, 3, 3)
    attrs = Conv2DTransposeAttrs(data_layout="NHWC")
    for given_attrs, dtype in ((attrs, "float32"), (Conv2DTransposeAttrs(), "int64")):
        operands = shapes if dtype == "float32" else ((1, 4, 5, 5), shapes[1])
        made = TemplateKernel(
            *(transposed_conv, "nn.conv2d_transpose", given_attrs, *operands),
            dtype=dtype,
        )
        assert made.function("llvm") is None


@st.composite
def kernels(draw: st.DrawFn) -> TemplateKernel:
    """Draw a transposed convolution of any kind."""
    axes, groups, ins, outs = (draw(st.integers(1, 3)) for _ in range(4))

    def each(lowest: int, highest: int, count: int = axes) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(lowest, highest)] * count))

    image = (*each(1, 5, axes - 1), draw(st.integers(1, 40)))
    size, strides = each(1, 5 if axes < 3 else 3), each(1, 4)
    dilation, padding = each(1, 4), each(0, 3, 2 * axes)
    lengths = [
        (length - 1) * stride + (kernel - 1) * step + 1 - before - behind
        for length, stride, kernel, step, before, behind in zip(
            *(image, strides, size, dilation),
            *(padding[:axes], padding[axes:]),
            strict=True,
        )
    ]
    assume(min(lengths) > 0)
    return kernel(
        image=image,
        channels=(groups * ins, groups * draw(st.sampled_from([outs, 17]))),
        size=size,
        batch=draw(st.integers(1, 2)),
        groups=groups,
        strides=strides,
        dilation=dilation,
        padding=padding,
        output_padding=tuple(draw(st.integers(0, one - 1)) for one in strides),
    )


@pytest.mark.stress
@given(made=kernels(), target=st.sampled_from(TARGETS))
@examples(5)
def test_any_transposed_convolution_is_computed(made: TemplateKernel, target: str):
    made.check(target)
