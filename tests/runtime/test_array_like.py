"""Whatever a caller gives for an array: numbers, or an error of ours that tells."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError, ParpassError
from parpass.relay.interpreter.interpreter import evaluate
from parpass.runtime.array_like import as_number_array
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.ndarray import NDArray

X = relay.var("x", shape=(2, 2))
SAME = relay.Function([X], X)
DEEP = functools.reduce(lambda inner, _: [inner], range(200), list[Any]())
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)

WAYS: dict[str, Callable[[Any], Any]] = {
    "nd.array": tvm.nd.array,
    "NDArray": NDArray,
    "const": relay.const,
    "const of a dtype": lambda value: relay.const(value, "float32"),
    "evaluate": lambda value: evaluate(SAME, [value]),
    "bind_params": lambda value: relay.build_module.bind_params_by_name(
        SAME, {"x": value}
    ),
    "save_param_dict": lambda value: tvm.runtime.save_param_dict({"x": value}),
}
NO_NUMBERS: dict[str, Any] = {
    "rows of several lengths": [[1, 2], [3]],
    "a string": "abc",
    "bytes": b"ab",
    "strings": [["a", "b"], ["c", "d"]],
    "None": None,
    "None among numbers": [[1, None], [2, 3]],
    "an object": object(),
    "a mapping": {"a": 1},
    "a set": {1, 2},
    "lists too deep": DEEP,
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "records": np.zeros(2, [("a", "i4")]),
    "objects": np.array([1, None], object),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_array_of_numbers_is_refused(
    value: Any, way: Callable[[Any], Any]
) -> None:
    with pytest.raises(ParpassError, match=r"expected (numbers|Tensor|a dtype)"):
        way(value)


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        ([[1, 2], [3]], None, "in rows of one length, for x, got [[1, 2], [3]]"),
        ([2**70], None, "expected numbers of at most 64 bits for x, got"),
        (300, "int8", "expected numbers of int8 for x, got 300"),
        ([1, float("nan")], "int32", "expected numbers of int32 for x, got [1, nan]"),
        ([1j], "float32", "expected numbers of float32 for x, got [1j]"),
        (np.array([1j]), "float32", "got an array of complex128"),
        (ENDLESS, None, "in rows of one length, for x, got [[...]]"),
        (None, "float32", "expected numbers for x, got None"),
        (1, "float33", "expected a dtype for x, got 'float33'"),
        ("1", "float32", "expected numbers for x, got '1'"),
        ([list(range(99)), 1], None, ", 16, ..."),
    ],
    ids=str,
)
def test_the_error_says_what_came_and_for_what(
    value: Any, dtype: str | None, words: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        as_number_array(value, "x", dtype)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


@given(
    st.recursive(
        st.integers(-9, 9) | st.floats() | st.booleans(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=6,
    )
)
def test_any_nested_numbers_are_an_array_or_refused(value: Any) -> None:
    try:
        expected = np.asarray(value)
    except ValueError:
        with pytest.raises(ArgumentError, match="in rows of one length"):
            as_number_array(value, "x")
        return
    np.testing.assert_array_equal(as_number_array(value, "x"), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_an_array_of_numbers_stays_the_same_object(dtype: str) -> None:
    array = np.zeros((2, 0), dtype)
    assert as_number_array(array, "x") is array
    assert as_number_array(array, "x", dtype) is array


def test_floats_of_other_packages_are_numbers() -> None:
    array = np.zeros(2, relay.const(1.0, "bfloat16").data.numpy().dtype)
    assert as_number_array(array, "x") is array


def test_a_number_too_large_for_an_int_may_be_a_float() -> None:
    assert relay.const(2**70, "float32").data.numpy() == np.float32(2**70)


@pytest.mark.parametrize(
    "value",
    [
        [Fraction(1, 2), 2],
        [Decimal("0.5"), Decimal(2)],
        np.array([np.float64(0.5), np.int64(2)], object),
        [numpy_dtype("bfloat16").type(0.5), np.float16(2)],
    ],
    ids=["fractions", "decimals", "objects", "bfloat16"],
)
def test_numbers_of_other_classes_are_numbers_of_the_dtype(value: Any) -> None:
    assert relay.const(value, "float32").data.numpy().tolist() == [0.5, 2]


@pytest.mark.slow  # an interpreter is started
def test_dtypes_of_ml_dtypes_are_known_before_it_is_imported() -> None:
    code = "from parpass import relay; print(relay.const(0.5, 'bfloat16').data.dtype)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert told.stdout == "bfloat16\n", told.stderr


def test_no_objects_are_no_numbers_of_the_dtype() -> None:
    array = as_number_array(np.zeros((2, 0), object), "x", "int8")
    assert (array.dtype, array.shape) == (np.int8, (2, 0))


@pytest.mark.parametrize("given", [[1], "a", None, {"x": 1}])
def test_weights_are_read_from_bytes_alone(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"expected the bytes of a .params file"):
        tvm.runtime.load_param_dict(given)
