"""Operators of loop expressions: dtypes are matched, and constants folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import structural_equal, tir
from parpass.errors import IRError, IRTypeError
from parpass.tir import op
from parpass.tir.data_type import wrapped
from parpass.tir.op import bitwise_not
from tests.support.profiles import examples

X = tir.Var("x", "int32")
F = tir.Var("f", "float32")


@pytest.mark.parametrize(
    ("lhs", "rhs", "dtype"),
    [
        ("int32", "int64", "int64"),
        ("int8", "int32", "int32"),
        ("int32", "float16", "float16"),
        ("float64", "float32", "float64"),
        ("uint32", "int32", "uint32"),
        ("uint8", "int32", "int32"),
        ("bool", "int32", "int32"),
        ("int32", "int32x4", "int32x4"),
        ("float32x4", "int32", "float32x4"),
    ],
)
def test_operands_are_brought_to_one_dtype(lhs: str, rhs: str, dtype: str):
    a, b = tir.Var("a", lhs), tir.Var("b", rhs)
    assert (a + b).dtype == (b + a).dtype == dtype


@pytest.mark.parametrize(("lhs", "rhs"), [("int32x2", "int32x4"), ("handle", "int32")])
def test_what_has_no_common_dtype_is_refused(lhs: str, rhs: str):
    with pytest.raises(IRTypeError, match="Cannot match type"):
        _ = tir.Var("a", lhs) + tir.Var("b", rhs)


def test_numbers_take_the_dtype_of_the_other_operand():
    assert (X + 1.5).dtype == "float32"
    assert (tir.Var("y", "int64") * 2).b.dtype == "int64"
    assert (2 - F).a.dtype == "float32"
    assert (X < 3).dtype == "bool"


def test_a_float_beside_a_float64_keeps_its_digits():
    x, lanes = tir.Var("x", "float64"), tir.Var("lanes", "float64x4")
    exact, single = tir.const(0.2, "float64"), tir.const(0.2, "float32")
    assert structural_equal(x * 0.2, x * exact)
    assert structural_equal(0.2 * x, exact * x)
    assert structural_equal(x < np.float64(0.2), x < exact)
    assert structural_equal(lanes + 0.2, lanes + tir.const(0.2, "float64x4"))
    assert structural_equal(op.cast_to(0.2, "float64"), exact)
    assert not structural_equal(x * single, x * exact)  # rounded by who made it


def test_neutral_operands_go_away():
    for same in (X + 0, 0 + X, X - 0, X * 1, 1 * X, X // 1, tir.div(X, 1), F - 0.0):
        assert isinstance(same, tir.Var)
    for zero in (X * 0, 0 * X, 0 // X, X % 1, tir.truncmod(0, X)):
        assert isinstance(zero, tir.IntImm)
        assert zero.value == 0
    assert tir.min(X, X) is X
    assert tir.all(True, X > 0).dtype == "bool"
    assert isinstance(tir.all(X > 0, False), tir.IntImm)
    assert isinstance(tir.any(X > 0, False), tir.GT)


@pytest.mark.parametrize(
    "divide", [tir.div, tir.truncdiv, tir.truncmod, tir.floordiv, tir.floormod]
)
def test_division_by_the_constant_zero_is_an_error(divide: Any):
    for dividend in (X, 3):
        with pytest.raises(IRError, match="Divide by zero"):
            divide(dividend, 0)


SMALL = st.integers(-20, 20)


def trunc_div(a: int, b: int) -> int:
    return int(a / b)


@examples(1.5)
@given(SMALL, SMALL)
def test_constants_are_computed_as_at_run_time(a: int, b: int):
    found = {
        "+": (tir.const(a) + tir.const(b), a + b),
        "-": (tir.const(a) - tir.const(b), a - b),
        "*": (tir.const(a) * tir.const(b), a * b),
        "<": (tir.const(a) < tir.const(b), a < b),
        ">=": (tir.const(a) >= tir.const(b), a >= b),
        "&": (tir.const(a) & tir.const(b), a & b),
        "^": (tir.const(a) ^ tir.const(b), a ^ b),
        "min": (tir.min(a, b), min(a, b)),
        "max": (tir.max(a, b), max(a, b)),
    }
    if b != 0:
        found |= {
            "//": (tir.const(a) // tir.const(b), a // b),
            "%": (tir.const(a) % tir.const(b), a % b),
            "truncdiv": (tir.truncdiv(a, b), trunc_div(a, b)),
            "truncmod": (tir.truncmod(a, b), a - b * trunc_div(a, b)),
        }
    assert {name: one.value for name, (one, _) in found.items()} == {
        name: expected for name, (_, expected) in found.items()
    }


@examples(1.5)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_ints_that_are_computed_wrap_around(a: int, b: int):
    product: Any = tir.const(a, "int32") * tir.const(b, "int32")
    assert product.value == wrapped(a * b, "int32")


def test_floats_are_rounded_to_their_dtype():
    found: Any = tir.const(1.0) / tir.const(3.0)
    assert found.value == pytest.approx(1 / 3)
    assert found.value != 1 / 3
    assert (tir.const(65504.0, "float16") * 2).value == float("inf")


def test_python_division_of_ints_is_ambiguous():
    with pytest.raises(RuntimeError, match="several divisions"):
        _ = X / 2
    assert isinstance(F / 2, tir.Div)


def test_an_expression_has_no_truth_value():
    with pytest.raises(ValueError, match=r"tir\.all, tir\.any"):
        assert X < 3
    with pytest.raises(IRTypeError):
        assert not F


def test_equality_is_an_expression_and_tells_identity():
    assert bool(X == X) is True
    assert X != F
    assert not X == F  # noqa: SIM201
    assert (X == 1).asobject().dtype == "bool"
    assert isinstance(tir.all(X == 1, X != F), tir.And)
    assert X in [F, X]
    assert {X: 1}[X] == 1
    assert tir.const(1) == 1
    assert tir.StringImm("a") == "a"


def test_casts_fold_constants():
    assert tir.const(3).astype("float32").value == 3.0
    assert tir.const(-1).astype("uint8").value == 255
    assert tir.const(2, "bool").value == 1
    assert tir.const(2**32 + 5, "int32").value == 5
    assert tir.const(2.7).astype("int32").value == 2
    assert X.astype("int32") is X
    assert X.astype("float32x4").dtype == "float32x4"
    with pytest.raises(IRTypeError, match="Can't cast"):
        tir.Var("p", "handle").astype("int32")


def test_shifts_beyond_the_width_are_refused():
    assert (X << 0) is X
    assert (tir.const(1) << 3).value == 8
    with pytest.raises(ValueError, match="less than 32 for type int32, got 32"):
        _ = X << 32


def test_bit_operators_are_for_ints():
    assert (~X).op.name == "tir.bitwise_not"
    with pytest.raises(IRTypeError, match="expected ints"):
        _ = F & 1


def test_limits_are_those_of_the_dtype():
    assert tir.max_value("int8").value == 127
    assert tir.min_value("int64").value == -(2**63)
    assert tir.max_value("uint64").value == 2**64 - 1
    assert tir.max_value("float16").value == 65504.0
    with pytest.raises(IRTypeError, match="Cannot decide max_value"):
        tir.max_value("handle")


def test_intrinsics_have_the_dtype_of_their_argument():
    assert tir.exp(F).dtype == "float32"
    assert tir.isnan(F).dtype == "bool"
    assert tir.floor(X) is X
    assert tir.floor(tir.const(2.5)).value == 2.0
    assert tir.if_then_else(X > 0, F, 1).dtype == "float32"
    assert tir.if_then_else(tir.const(True), F, 1) is F
    assert tir.likely(X > 0).op.name == "tir.likely"
    assert isinstance(tir.abs(X), tir.Select)
    assert structural_equal(tir.power(F, 2), tir.power(F, 2.0))


def test_conditions_are_bools():
    with pytest.raises(IRTypeError, match="expected bools for And, got int32"):
        tir.all(X, X > 0)
    with pytest.raises(ValueError, match="expected one condition or more"):
        tir.any()


def test_floats_have_no_bits_to_invert():
    with pytest.raises(RuntimeError, match="expected an int for bitwise_not"):
        bitwise_not(tir.const(1.5))


def test_beside_bits_a_number_has_the_dtype_of_what_it_changes():
    x = tir.Var("x", "int8")
    vector: Any = tir.const(1, "int8x2")
    assert (x & 3).dtype == (3 | x).dtype == (x << 1).dtype == "int8"
    assert (vector >> 1).dtype == "int8x2"
    assert (x & 300).dtype == "int32"  # which an int8 does not hold
    assert (tir.Var("y", "int16") ^ x).dtype == "int16"
