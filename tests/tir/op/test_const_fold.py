"""What constants are folded to is what would be computed, to the bit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass import tir
from parpass.runtime.dtypes import converted, numpy_dtype
from parpass.tir.interpreter.lane_arithmetic import binary
from parpass.tir.op.const_fold import DivisionByZeroError, fold
from tests.support.relay.op.calls import Array
from tests.support.special_floats import FLOATS, assert_same_bits, pairs, specials

ARITHMETIC = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.FloorDiv, tir.Min, tir.Max)
COMPARED = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
# Of floats these are never folded.
REMAINDERS = (tir.Mod, tir.FloorMod)
KINDS = (*ARITHMETIC, *COMPARED, *REMAINDERS)


def computed(kind: type[Any], a: Any, b: Any, dtype: str) -> Array:
    """Return what the interpreter computes of arrays."""
    compute = binary(kind, dtype)
    assert compute is not None
    with np.errstate(all="ignore"):
        return compute(a, b)


def values_of(folded: list[Any], dtype: str) -> Array:
    return np.array([one.value for one in folded], "float64").astype(numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [*ARITHMETIC, *COMPARED])
def test_two_floats_are_folded_to_what_they_would_make(kind: Any, dtype: str) -> None:
    a, b = pairs(dtype)
    folded = [
        fold(kind, tir.FloatImm(dtype, float(x)), tir.FloatImm(dtype, float(y)))
        for x, y in zip(a, b, strict=True)
    ]
    result = dtype if kind in ARITHMETIC else "bool"
    assert {one.dtype for one in folded if one is not None} == {result}
    assert_same_bits(values_of(folded, result), computed(kind, a, b, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_float_beside_a_variable_changes_no_value(
    kind: Any, dtype: str, is_first: bool
) -> None:
    x, some = tir.Var("x", dtype), specials(dtype)
    for value in some:
        imm, same = tir.FloatImm(dtype, float(value)), np.full_like(some, value)
        nodes, arrays = (
            ((imm, x), (same, some)) if is_first else ((x, imm), (some, same))
        )
        folded = fold(kind, *nodes)
        if folded is not None:
            found = some if folded is x else np.full_like(some, folded.value)
            wanted = computed(kind, *arrays, dtype)
            assert_same_bits(found, wanted, f"{value} of {dtype}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_that_change_nothing_go_away(dtype: str) -> None:
    x = tir.Var("x", dtype)
    zero, minus, one = (tir.FloatImm(dtype, value) for value in (0.0, -0.0, 1.0))
    for same in (x - zero, x + minus, minus + x, x * one, one * x, x / one):
        assert same is x


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_divided_by_0(dtype: str) -> None:
    x, zero = tir.Var("x", dtype), tir.FloatImm(dtype, -0.0)
    assert isinstance(x / zero, tir.Div)
    assert isinstance(zero / x, tir.Div)
    assert isinstance(zero * x, tir.Mul)
    quotient = tir.const(1, dtype) / zero
    assert isinstance(quotient, tir.FloatImm)
    assert quotient.value == -np.inf


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_ints_are_not(dtype: str) -> None:
    with pytest.raises(DivisionByZeroError, match=f"the constant 0 of {dtype}"):
        tir.truncdiv(tir.Var("x", dtype), tir.const(0, dtype))


def test_a_quotient_is_rounded_before_it_is_rounded_down() -> None:
    a, b = np.float32(1767.5172), np.float32(49.097702)
    assert float(a) / float(b) < 36 == a / b
    found = fold(tir.FloorDiv, tir.const(a), tir.const(b))
    assert isinstance(found, tir.FloatImm)
    assert found.value == 36


ROUNDED: dict[Callable[..., Any], Callable[[Any], Any]] = {
    tir.floor: np.floor,
    tir.ceil: np.ceil,
    tir.trunc: np.trunc,
    tir.nearbyint: np.rint,
    tir.round: np.rint,
    tir.abs: np.abs,
    operator.neg: np.negative,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("build", ROUNDED)
def test_a_float_is_rounded_with_its_sign(build: Any, dtype: str) -> None:
    some = specials(dtype)
    folded = [build(tir.FloatImm(dtype, float(one))) for one in some]
    wanted = ROUNDED[build](some.astype("float64")).astype(some.dtype)
    assert_same_bits(values_of(folded, dtype), wanted)


INTS = ("int8", "int32", "int64", "uint8", "uint32", "uint64")


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS])
def test_a_float_is_cast_as_by_machine_code(source: str, dtype: str) -> None:
    some = specials(source)
    folded = [tir.FloatImm(source, float(one)).astype(dtype) for one in some]
    with np.errstate(all="ignore"):
        wanted = converted(some, numpy_dtype(dtype))
    if dtype in FLOATS:
        assert_same_bits(values_of(folded, dtype), wanted)
    else:
        assert [one.value for one in folded] == wanted.tolist()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_float_is_rounded_to_its_dtype_before_it_is_cast(dtype: str) -> None:
    imm = tir.FloatImm(dtype, 0.1).astype("float64")
    assert isinstance(imm, tir.FloatImm)
    assert imm.value == float(np.array(0.1).astype(numpy_dtype(dtype)))


def test_an_int_that_no_double_has_is_not_rounded_twice() -> None:
    odd = tir.IntImm("int64", 2**60 + 2**36 + 1)
    assert isinstance(odd.astype("float32"), tir.Cast)
    assert isinstance(tir.IntImm("int64", 2**53).astype("float32"), tir.FloatImm)
