"""Weights as bytes: what comes back, and what is refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from parpass.errors import ArgumentError, MalformedModelError
from parpass.runtime import NDArray, load_param_dict, save_param_dict

VALUES = {
    "conv/1.weight": np.arange(6, dtype="float32").reshape(2, 3),
    "größe": np.array(7, "int64"),
    "none": np.zeros((0, 4), "uint8"),
    "flags": np.array([True, False]),
    "half": np.array([1.5], "float16"),
    "uniform": np.broadcast_to(np.float64(2), (3, 3)),
}


def test_what_is_saved_comes_back_in_order() -> None:
    found = load_param_dict(save_param_dict(VALUES))
    assert [*found] == [*VALUES]
    assert all(found[name] == NDArray(VALUES[name]) for name in VALUES)


def test_bfloat16_comes_back() -> None:
    import ml_dtypes

    array = np.array([1, 2], ml_dtypes.bfloat16)
    assert load_param_dict(save_param_dict({"x": array}))["x"] == NDArray(array)


def test_the_bytes_are_those_of_tvm() -> None:
    # Laid out by hand after TVM's sources: magic, reserved, names, count, one array.
    wanted = struct.pack("<QQQQ1sQ", 0xF7E58D4F05049CB7, 0, 1, 1, b"w", 1)
    wanted += struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, 1)
    wanted += struct.pack("<BBHqq2f", 2, 32, 1, 2, 8, 0.5, 1.5)
    assert save_param_dict({"w": np.array([0.5, 1.5], "float32")}) == wanted


@pytest.mark.parametrize("length", [0, 5, 20, 40, 60, 100, -1])
def test_bytes_that_are_cut_are_refused(length: int) -> None:
    whole = save_param_dict(VALUES)
    with pytest.raises(MalformedModelError, match="they are cut or of another format"):
        load_param_dict(whole[:length])


@pytest.mark.parametrize("at", [0, 16, 24, 200])
def test_wrong_numbers_are_refused(at: int) -> None:
    broken = save_param_dict({"x" * 150: VALUES["half"]})
    broken[at : at + 8] = b"\xff" * 8
    with pytest.raises(MalformedModelError):
        load_param_dict(broken)


def test_what_cannot_be_saved_is_refused() -> None:
    with pytest.raises(ArgumentError, match="params by name, got tuple; is it a pair"):
        save_param_dict((None, {}))  # pyright: ignore[reportArgumentType] -- that is it
    with pytest.raises(ArgumentError, match=r"'c'\] cannot be saved: .* 'complex64'"):
        save_param_dict({"c": np.zeros(2, "complex64")})
