"""Poolings in blocked layouts, and in NCHW."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.ir.attrs import Attrs
from parpass.relay.backend.lowering.templates.pooling import avg_pool2d, max_pool2d
from parpass.relay.op.nn.pool import AvgPool2DAttrs, GlobalPool2DAttrs, MaxPool2DAttrs
from tests.relay.backend.lowering.templates.template_kernels import TemplateKernel

SLIDING: dict[str, Any] = {
    "pool_size": (3, 2),
    "strides": (2, 3),
    "padding": (1, 0, 2, 1),
    "layout": "NCHW8c",
}
IN_NCHW: dict[str, Any] = {**SLIDING, "layout": "NCHW"}
PLAIN, WIDE = (2, 3, 6, 7), (1, 2, 7, 37)


def kernel(
    name: str, attrs: Attrs, shape: tuple[int, ...] = (1, 2, 6, 7, 8)
) -> TemplateKernel:
    """Return a kernel."""
    template = max_pool2d if "max" in name else avg_pool2d
    return TemplateKernel(template, name, attrs, shape)


CASES = [
    kernel("nn.max_pool2d", MaxPool2DAttrs(**SLIDING)),
    kernel("nn.max_pool2d", MaxPool2DAttrs(**SLIDING, dilation=(2, 3), ceil_mode=True)),
    kernel("nn.avg_pool2d", AvgPool2DAttrs(**SLIDING, ceil_mode=True)),
    kernel("nn.avg_pool2d", AvgPool2DAttrs(**SLIDING, dilation=(2, 2))),
    kernel("nn.avg_pool2d", AvgPool2DAttrs(**SLIDING, count_include_pad=True)),
    kernel("nn.avg_pool2d", AvgPool2DAttrs(**IN_NCHW), PLAIN),
    kernel("nn.max_pool2d", MaxPool2DAttrs(**IN_NCHW), PLAIN),
    kernel("nn.global_avg_pool2d", GlobalPool2DAttrs(layout="NCHW8c")),
    kernel("nn.global_max_pool2d", GlobalPool2DAttrs(layout="NCHW8c")),
    kernel(
        "nn.max_pool2d", MaxPool2DAttrs(pool_size=(3, 3), padding=(1, 1, 1, 1)), WIDE
    ),
    kernel(
        "nn.avg_pool2d", AvgPool2DAttrs(pool_size=(2, 5), padding=(0, 2, 1, 2)), WIDE
    ),
    kernel("nn.avg_pool2d", AvgPool2DAttrs(pool_size=(2, 2), strides=(2, 2)), WIDE),
    kernel(
        "nn.avg_pool2d",
        AvgPool2DAttrs(pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1)),
        WIDE,
    ),
    kernel(
        "nn.avg_pool2d",
        AvgPool2DAttrs(
            **IN_NCHW, dilation=(2, 2), ceil_mode=True, count_include_pad=True
        ),
        WIDE,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_pooling(case: TemplateKernel):
    case.check("llvm")


@pytest.mark.slow
@pytest.mark.parametrize("case", [CASES[1], CASES[2], CASES[5], *CASES[-4:]])
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote(case: TemplateKernel):
    case.interpret()


def test_what_is_no_number_stays_the_largest():
    attrs = MaxPool2DAttrs(pool_size=(1, 3), layout="NCHW8c")
    blocks = kernel("nn.max_pool2d", attrs)
    blocks.arrays[0][0, 0, 0, ::2] = np.nan
    blocks.arrays[0][0, 1, 0] = -np.inf
    rows = kernel("nn.max_pool2d", MaxPool2DAttrs(pool_size=(2, 3)), WIDE)
    rows.arrays[0][0, 0, 2, ::9] = np.nan
    rows.arrays[0][0, 1, 2:5] = -np.inf
    for case in (blocks, rows):
        case.compute_again()
        assert np.isnan(case.expected).any()
        case.check("llvm")
