"""Convolutions by long windows that are apart: a part of a window is a vector."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.backend.lowering.templates.window_products import window_products
from tests.relay.backend.lowering.templates.template_kernels import (
    CONV_ATTRS,
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples


def kernel(
    *,
    image: tuple[int, ...] = (70,),
    channels: tuple[int, int] = (1, 7),
    size: tuple[int, ...] = (20,),
    strides: Any = (8,),
    batch: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    **attrs: Any,
) -> TemplateKernel:
    """Return a kernel."""
    axes = len(image)
    made = CONV_ATTRS[axes](groups=groups, strides=strides, **attrs)
    data = (batch, channels[0], *image)
    weight = (channels[1], channels[0] // groups, *size)
    name = f"nn.conv{axes}d"
    return TemplateKernel(window_products, name, made, data, weight, dtype=dtype)


CASES: list[dict[str, Any]] = [
    {},
    {"channels": (3, 13), "batch": 2, "padding": (5, 7)},
    {"channels": (4, 6), "groups": 2, "strides": (21,), "image": (200,)},
    {"dtype": "float64", "size": (17,), "strides": (2,)},
    {"image": (90, 1), "size": (18, 1), "strides": (7, 1)},
    {"dtype": "int32", "size": (33,), "image": (300,)},
    {"image": (4, 90), "size": (3, 18), "strides": (1, 5), "padding": (1, 2, 1, 3)},
    {"image": (3, 3, 60), "size": (2, 1, 16), "strides": (1, 2, 4), "channels": (2, 3)},
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_convolution(case: dict[str, Any]):
    kernel(**case).check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(image=(30,), channels=(2, 3), size=(18,), padding=(1, 2)).interpret()
    kernel(image=(2, 26), channels=(1, 2), size=(2, 17), strides=(1, 3)).interpret()


def test_short_windows_neighbours_and_dilated_ones_are_left_to_others():
    assert kernel().function("llvm") is not None
    assert kernel(size=(3,)).function("llvm") is None
    assert kernel(strides=(1,)).function("llvm") is None
    assert kernel(dilation=(2,)).function("llvm") is None


@pytest.mark.stress
@given(axes=st.integers(1, 3), target=st.sampled_from(TARGETS), data=st.data())
@examples(5)
def test_any_of_them_is_computed(axes: int, target: str, data: st.DataObject):
    groups = data.draw(st.integers(1, 3))
    per_group = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 17)))
    outer = data.draw(st.tuples(*[st.integers(1, 3)] * (axes - 1)))
    size = data.draw(st.integers(16, 40))
    kernel(
        image=(*[3] * (axes - 1), size + data.draw(st.integers(0, 90))),
        channels=(per_group[0] * groups, per_group[1] * groups),
        size=(*outer, size),
        strides=(*[1] * (axes - 1), data.draw(st.integers(2, 30))),
        padding=(*[data.draw(st.integers(0, 4)) for _ in range(2 * axes)],),
        batch=data.draw(st.integers(1, 2)),
        groups=groups,
        dtype=data.draw(st.sampled_from(["float32", "float64", "int32"])),
    ).check(target)
