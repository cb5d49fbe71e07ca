"""Convolutions in blocked layouts: each channel block a vector."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import tir
from parpass.relay.backend.lowering.templates.blocked_conv import blocked_conv
from parpass.relay.op.declaration.layout import SPATIAL, transformed_shape
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
    image: tuple[int, ...] = (5, 7),
    channels: tuple[int, int] = (4, 8),
    blocks: tuple[int, int] = (4, 8),
    size: tuple[int, ...] = (3, 3),
    batch: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel; a block of 1 is for data in layouts such as NCHW."""
    axes, (inner, lanes) = len(image), blocks
    plain, weights = f"NC{SPATIAL[axes]}", f"OI{SPATIAL[axes]}"
    attrs["data_layout"] = data_layout = f"{plain}{inner}c" if inner > 1 else plain
    packed = f"{weights}{inner}i{lanes}o" if inner > 1 else f"{weights}{lanes}o"
    attrs |= {"kernel_layout": packed, "out_layout": f"{plain}{lanes}c"}
    data: Any = transformed_shape((batch, channels[0], *image), plain, data_layout)
    weight: Any = (channels[1], channels[0] // groups, *size)
    weight = transformed_shape(weight, weights, packed)
    made = CONV_ATTRS[axes](groups=groups, **attrs)
    name = "nn.contrib_conv2d_NCHWc" if axes == 2 else f"nn.conv{axes}d"
    return TemplateKernel(blocked_conv, name, made, data, weight, dtype=dtype)


CASES: dict[str, dict[str, Any]] = {
    "3x3": {"padding": (1, 1, 1, 1)},
    "one column": {
        "image": (19, 1),
        "size": (3, 1),
        "padding": (1, 0, 2, 0),
        "strides": (2, 1),
    },
    "1x1": {"size": (1, 1), "channels": (16, 48), "blocks": (16, 16)},
    "few input channels": {
        "channels": (3, 16),
        "blocks": (1, 16),
        "size": (7, 7),
        "image": (19, 23),
        "strides": (2, 2),
        "padding": (3, 3, 3, 3),
    },
    "one side of padding alone, and strides that leave pixels over": {
        "image": (6, 10),
        "strides": (3, 2),
        "padding": (0, 1, 2, 0),
    },
    "groups": {"groups": 2, "channels": (16, 32), "blocks": (8, 8), "batch": 2},
    "a window that sees padding alone": {
        "image": (2, 3),
        "size": (1, 1),
        "strides": (9, 9),
        "padding": (2, 3, 2, 3),
    },
    "dilation": {"image": (9, 35), "dilation": (2, 3), "padding": (2, 3, 2, 3)},
    "int32": {"dtype": "int32", "padding": (1, 1, 1, 1)},
    "float64": {"dtype": "float64", "size": (2, 3), "image": (4, 40)},
    "a signal": {"image": (35,), "size": (5,), "padding": (2, 1), "strides": (2,)},
    "a dilated signal in groups": {
        "image": (40,),
        "size": (3,),
        "dilation": (2,),
        "groups": 2,
        "channels": (8, 16),
    },
    "a volume": {
        "image": (3, 4, 9),
        "size": (2, 3, 3),
        "padding": (1, 1, 0, 0, 1, 2),
        "strides": (1, 2, 1),
        "batch": 2,
    },
}


@pytest.mark.parametrize("name", CASES)
def test_machine_code_computes_the_convolution(name: str):
    kernel(**CASES[name]).check(TARGETS[0])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS[1:])
def test_so_it_does_where_registers_are_short(target: str):
    kernel(**CASES["3x3"]).check(target)


SMALLEST: dict[str, Any] = {"image": (2, 2), "channels": (4, 4)}
SMALL: list[dict[str, Any]] = [
    {"image": (2, 3), "padding": (1, 0, 1, 1), "size": (2, 2), "blocks": (2, 4)},
    {"image": (4, 3), "channels": (1, 4), "blocks": (1, 4), "strides": (2, 2)},
    {"groups": 2, "channels": (4, 4), "blocks": (2, 2), "size": (1, 1), "batch": 2},
    {"size": (1, 1), "strides": (9, 9), "padding": (2, 3, 2, 3), "blocks": (2, 2)},
    {"image": (5,), "size": (3,), "padding": (1, 1), "blocks": (2, 2)},
    {"image": (1, 2, 3), "size": (2, 2, 2), "padding": (1, 0, 0) * 2, "blocks": (2, 2)},
]


@pytest.mark.slow
@pytest.mark.parametrize("small", SMALL)
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote(small: dict[str, Any]):
    kernel(**{**SMALLEST, **small}).interpret()


def test_other_layouts_and_dtypes_are_for_others():
    plain = Conv2DAttrs()
    shapes = (1, 4, 5, 5), (4, 4, 3, 3)
    for attrs, dtype in ((plain, "float32"), (plain, "int64")):
        made = TemplateKernel(blocked_conv, "nn.conv2d", attrs, *shapes, dtype=dtype)
        assert made.function("llvm") is None


def test_a_result_stays_in_a_register_while_it_is_summed_up():
    """As many sums as there are registers at most, whatever the sizes are."""
    func = kernel(image=(56, 56), channels=(64, 64), blocks=(16, 16)).function(
        "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4"
    )
    assert func is not None
    assert isinstance(func.body, tir.Allocate)
    assert int(func.body.extents[0]) <= 31 * 16


@st.composite
def kernels(draw: st.DrawFn) -> TemplateKernel:
    """Draw a convolution of any kind that the template takes."""
    lanes = draw(st.sampled_from([2, 4, 8, 16]))
    inner = draw(st.sampled_from([1, 2, 4, 16]))
    groups, ins, outs, axes = (draw(st.integers(1, 3)) for _ in range(4))
    size = draw(st.tuples(*[st.integers(1, 4)] * axes))
    dilation = draw(st.tuples(*[st.integers(1, 3)] * axes))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 2 * axes))
    extents = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    image = tuple(
        max(1, extent - before) + draw(st.integers(0, 20 if axes < 3 else 5))
        for extent, before in zip(extents, padding, strict=False)
    )
    return kernel(
        image=image,
        channels=(groups * ins * inner, groups * outs * lanes),
        blocks=(inner, lanes),
        size=size,
        batch=draw(st.integers(1, 2)),
        groups=groups,
        strides=draw(st.tuples(*[STRIDES] * axes)),
        dilation=dilation,
        padding=padding,
    )


@pytest.mark.stress
@given(made=kernels(), target=st.sampled_from(TARGETS))
@examples(5)
def test_any_convolution_is_computed(made: TemplateKernel, target: str):
    made.check(target)
