"""Products of matrices by tiles of registers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.attrs import Attrs
from parpass.relay.backend.lowering.templates.matrix_product import matrix_product
from parpass.relay.op.nn.linear import BatchMatmulAttrs, DenseAttrs, MatmulAttrs
from tests.relay.backend.lowering.templates.template_kernels import (
    TARGETS,
    TemplateKernel,
)
from tests.support.profiles import examples


def kernel(
    name: str,
    attrs: Attrs,
    a: tuple[int, ...],
    b: tuple[int, ...],
    dtype: str = "float32",
) -> TemplateKernel:
    """Return a kernel."""
    return TemplateKernel(matrix_product, name, attrs, a, b, dtype=dtype)


DENSE = ("nn.dense", DenseAttrs())
TO_INT32 = ("nn.dense", DenseAttrs(out_dtype="int32"))
CASES = [
    kernel(*DENSE, (1, 100), (19, 100)),
    kernel(*DENSE, (2, 3, 33), (7, 33)),
    kernel(*DENSE, (9, 16), (9, 16), "float64"),
    kernel(*DENSE, (3, 35), (19, 35), "int32"),
    kernel("nn.matmul", MatmulAttrs(out_dtype="int32"), (2, 3, 7), (7, 37), "uint8"),
    kernel("nn.matmul", MatmulAttrs(transpose_b=True), (4, 5), (3, 5)),
    kernel("nn.matmul", MatmulAttrs(), (2, 3, 7), (7, 37)),
    kernel("nn.batch_matmul", BatchMatmulAttrs(), (3, 2, 20), (3, 5, 20)),
    kernel("nn.batch_matmul", BatchMatmulAttrs(), (3, 2, 20), (1, 5, 20)),
    kernel(
        "nn.batch_matmul", BatchMatmulAttrs(transpose_b=False), (1, 2, 5), (2, 5, 17)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_machine_code_computes_the_product(case: TemplateKernel):
    case.check("llvm")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_narrow_ints_give_wide_sums_in_registers_of_any_size(dtype: str):
    kernel(*TO_INT32, (3, 75), (19, 75), dtype).check(*TARGETS)


@pytest.mark.slow
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote():
    kernel(*DENSE, (3, 6), (5, 6)).interpret()
    kernel("nn.matmul", MatmulAttrs(), (3, 2), (2, 6)).interpret()
    kernel(*TO_INT32, (3, 11), (5, 11), "int8").interpret()


def test_a_first_factor_of_columns_is_for_others():
    attrs = MatmulAttrs(transpose_a=True)
    assert kernel("nn.matmul", attrs, (5, 4), (5, 3)).function("llvm") is None


@pytest.mark.stress
@given(
    rows=st.integers(1, 30),
    inner=st.integers(1, 70),
    columns=st.integers(1, 70),
    by_rows=st.booleans(),
    target=st.sampled_from(TARGETS),
)
@examples(5)
def test_any_product_is_computed(
    rows: int, inner: int, columns: int, by_rows: bool, target: str
):
    b = (columns, inner) if by_rows else (inner, columns)
    attrs = MatmulAttrs(transpose_b=by_rows)
    kernel("nn.matmul", attrs, (rows, inner), b).check(target)
