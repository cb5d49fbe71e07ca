"""Normalisation over neighbouring channels."""

from __future__ import annotations

from typing import Any

import pytest

from parpass.relay.backend.lowering.templates.local_response_norm import (
    local_response_norm,
)
from parpass.relay.op.nn.norm import LRNAttrs
from tests.relay.backend.lowering.templates.template_kernels import TemplateKernel


def kernel(attrs: LRNAttrs, *shape: int, dtype: str = "float32") -> TemplateKernel:
    return TemplateKernel(local_response_norm, "nn.lrn", attrs, shape, dtype=dtype)


STRONG: dict[str, Any] = {"alpha": 0.5, "bias": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        kernel(LRNAttrs(**STRONG), 2, 7, 2, 35),
        kernel(LRNAttrs(size=3, axis=-2, **STRONG), 3, 2, 5),
        kernel(LRNAttrs(size=9, axis=0, **STRONG), 3, 17),
    ],
)
def test_machine_code_computes_the_norm(case: TemplateKernel):
    case.check("llvm")


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(LRNAttrs(size=3, **STRONG), 1, 3, 2, 5).interpret()


def test_neighbours_in_a_row_are_for_others():
    assert kernel(LRNAttrs(axis=1), 3, 17).function("llvm") is None
