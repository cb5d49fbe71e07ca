"""Convolutions in NCHW, and the like of other ranks: pixels of a row are a vector."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.plain_conv import plain_conv
from tests.relay.backend.lowering.templates.template_kernels import (
    CONV_ATTRS,
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples

STRIDES = st.sampled_from([1, 2, 3, 9])


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
    made = CONV_ATTRS[axes](groups=groups, **attrs)
    data = (batch, channels[0], *image)
    weight = (channels[1], channels[0] // groups, *size)
    name = f"nn.conv{axes}d"
    return TemplateKernel(plain_conv, name, made, data, weight, dtype=dtype)


CASES: list[dict[str, Any]] = [
    {"padding": (1, 1, 1, 1)},
    {"image": (3, 37), "size": (1, 1), "channels": (7, 17), "batch": 2},
    {"groups": 3, "channels": (6, 9), "strides": (2, 2), "padding": (0, 1, 1, 2)},
    {"groups": 5, "channels": (5, 5), "dilation": (2, 2), "image": (7, 40)},
    {"size": (1, 1), "strides": (9, 9), "padding": (2, 3, 2, 3)},
    {"dtype": "float64", "size": (2, 3), "image": (4, 20)},
    {"image": (37,), "size": (5,), "padding": (2, 1), "strides": (2,)},
    {"image": (40,), "size": (3,), "groups": 3, "channels": (6, 9), "dilation": (2,)},
    {"image": (3, 5, 19), "size": (2, 3, 3), "padding": (1, 0, 1, 0, 2, 1)},
    {"image": (19, 1), "size": (3, 1), "padding": (1, 0, 2, 0), "strides": (2, 1)},
    {"image": (4, 4, 9), "size": (2, 2, 1), "strides": (1, 2, 3), "batch": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_convolution(case: dict[str, Any]):
    kernel(**case).check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(image=(2, 5), channels=(2, 3), size=(2, 2), padding=(1, 0, 0, 1)).interpret()
    kernel(image=(2, 7), channels=(2, 2), size=(1, 2), strides=(1, 2)).interpret()
    kernel(image=(6,), channels=(2, 2), size=(3,), padding=(1, 1)).interpret()
    padding = (0, 1, 1, 1, 0, 0)
    volume = kernel(image=(2, 2, 3), channels=(1, 2), size=(2, 2, 2), padding=padding)
    volume.interpret()


@pytest.mark.stress
@given(axes=st.integers(1, 3), target=st.sampled_from(TARGETS), data=st.data())
@examples(5)
def test_any_convolution_is_computed(axes: int, target: str, data: st.DataObject):
    def each(lengths: st.SearchStrategy[int], count: int = axes) -> tuple[int, ...]:
        return data.draw(st.tuples(*[lengths] * count))

    groups = data.draw(st.integers(1, 3))
    per_group = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 17)))
    kernel(
        image=(*each(st.integers(6, 12), axes - 1), data.draw(st.integers(6, 80))),
        size=each(st.integers(1, 3)),
        groups=groups,
        channels=(groups * per_group[0], groups * per_group[1]),
        strides=each(STRIDES),
        dilation=each(st.integers(1, 2)),
        padding=each(st.integers(0, 2), 2 * axes),
    ).check(target)
