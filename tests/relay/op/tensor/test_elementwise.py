from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay import op
from parpass.relay.expr import Call, const
from tests.support.relay.op.calls import array, bools, floats, ints, value

MATH: dict[str, tuple[Callable[[float], float], float, float]] = {
    "exp": (math.exp, -3, 3),
    "log": (math.log, 0.1, 9),
    "log2": (math.log2, 0.1, 9),
    "log10": (math.log10, 0.1, 9),
    "sqrt": (math.sqrt, 0, 9),
    "rsqrt": (lambda x: x**-0.5, 0.1, 9),
    "sigmoid": (lambda x: 0.5 * (1 + math.tanh(x / 2)), -9, 9),
    "erf": (math.erf, -3, 3),
    "sin": (math.sin, -9, 9),
    "cos": (math.cos, -9, 9),
    "tan": (math.tan, -1, 1),
    "asin": (math.asin, -1, 1),
    "acos": (math.acos, -1, 1),
    "atan": (math.atan, -9, 9),
    "sinh": (math.sinh, -3, 3),
    "cosh": (math.cosh, -3, 3),
    "tanh": (math.tanh, -3, 3),
    "abs": (abs, -9, 9),
    "negative": (lambda x: -x, -9, 9),
    "floor": (math.floor, -9, 9),
    "ceil": (math.ceil, -9, 9),
    "trunc": (math.trunc, -9, 9),
    "round": (round, -9, 9),
    "sign": (lambda x: (x > 0) - (x < 0), -9, 9),
}


def build(name: str, *args: Any) -> Call:
    return getattr(op, name)(*args)


@pytest.mark.parametrize("name", MATH)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_floats_is_that_of_the_math_module(name: str, dtype: str) -> None:
    meaning, low, high = MATH[name]
    data = np.linspace(low, high, 23, dtype=dtype)
    found = value(build(name, const(data)))
    assert found.dtype == dtype
    rtol = 1e-6 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(
        found, [meaning(x) for x in data.tolist()], rtol=rtol, atol=rtol
    )


def test_halves_are_rounded_to_even() -> None:
    found = value(op.round(const(np.array([-1.5, -0.5, 0.5, 1.5, 2.5]))))
    assert found.tolist() == [-2, 0, 0, 2, 2]


def test_functions_outside_of_their_domain_give_nan_or_inf_without_a_warning() -> None:
    data = const(np.array([-1.0, 0.0, 1000.0], "float32"))
    assert np.isnan(value(op.log(data))[0])
    assert value(op.rsqrt(data))[1] == np.inf
    assert value(op.exp(data))[2] == np.inf
    assert value(op.sigmoid(op.negative(data)))[2] == 0


def test_logical_not_negates() -> None:
    data = bools(7)
    assert value(op.logical_not(data)).tolist() == [not x for x in array(data)]


def test_a_copy_has_the_same_values_in_other_memory() -> None:
    data = floats(3)
    found = value(op.copy(data))
    np.testing.assert_array_equal(found, array(data))
    assert not np.shares_memory(found, array(data))


def test_a_cast_to_integers_goes_towards_zero() -> None:
    found = value(op.cast(const(np.array([-1.7, 1.7])), "int32"))
    assert found.tolist() == [-1, 1]


def test_clip_limits_and_keeps_the_dtype() -> None:
    found = value(op.clip(ints(50), -2.0, 3.0))
    assert found.dtype == "int32"
    assert found.tolist() == [min(max(x, -2), 3) for x in array(ints(50)).tolist()]


def test_a_python_number_is_an_operand() -> None:
    assert value(op.exp(0.0)) == 1


def test_functions_of_floats_reject_integers() -> None:
    call = op.exp(ints(3))
    with pytest.raises(op.TypeRelationError) as caught:
        op.Op.get("exp").relation([call.args[0].checked_type], None)
    assert str(caught.value) == "expected a tensor of floats, got Tensor[(3,), int32]"


def test_clip_rejects_an_empty_range() -> None:
    with pytest.raises(IRTypeError, match=r"^expected a_min <= a_max, got 2 and 1$"):
        op.clip(floats(1), 2, 1)


def test_cast_rejects_what_is_no_dtype() -> None:
    with pytest.raises(IRTypeError) as caught:
        op.cast(floats(1), "real")
    assert str(caught.value) == "expected the name of a dtype, got 'real'"
