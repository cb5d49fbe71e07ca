"""Convolutions by templates, whatever their weight comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from parpass.relay.backend.lowering.rule_registry import Template
from parpass.relay.backend.lowering.templates.blocked_conv import blocked_conv
from parpass.relay.backend.lowering.templates.depthwise_conv import depthwise_conv
from parpass.relay.backend.lowering.templates.plain_conv import plain_conv
from parpass.relay.backend.lowering.templates.transposed_conv import transposed_conv
from parpass.relay.op.nn.conv import Conv2DAttrs
from parpass.relay.op.nn.conv_transpose import Conv2DTransposeAttrs
from tests.relay.backend.lowering.templates.template_kernels import TemplateKernel


class Case(NamedTuple):
    template: Template
    name: str
    attrs: Any
    data: tuple[int, ...]
    weight: tuple[int, ...]


BLOCKS: dict[str, Any] = {"data_layout": "NCHW8c", "padding": (1, 1, 1, 1)}
CASES = [
    Case(
        *(blocked_conv, "nn.contrib_conv2d_NCHWc"),
        Conv2DAttrs(**BLOCKS, kernel_layout="OIHW8i8o", out_layout="NCHW8c"),
        *((2, 1, 5, 7, 8), (2, 1, 3, 3, 8, 8)),
    ),
    Case(
        *(depthwise_conv, "nn.contrib_depthwise_conv2d_NCHWc"),
        Conv2DAttrs(**BLOCKS, kernel_layout="OIHW1i8o", groups=16),
        *((2, 2, 5, 7, 8), (2, 1, 3, 3, 1, 8)),
    ),
    Case(
        *(plain_conv, "nn.conv2d", Conv2DAttrs(strides=(1, 2))),
        *((2, 3, 5, 9), (5, 3, 3, 3)),
    ),
    Case(
        *(transposed_conv, "nn.conv2d_transpose"),
        Conv2DTransposeAttrs(strides=(2, 2)),
        *((2, 3, 4, 5), (3, 5, 3, 3)),
    ),
]


def kernel(case: Case) -> TemplateKernel:
    """Return a kernel in which the operands are not in memory."""
    return TemplateKernel(*case, is_computed=True)


@pytest.mark.parametrize("case", CASES)
def test_machine_code_has_a_weight_that_is_computed(case: Case):
    kernel(case).check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(CASES[2]).interpret()
