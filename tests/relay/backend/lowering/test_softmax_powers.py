"""Powers of softmax are as near to those of float64 as is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.relay.backend.lowering.softmax_powers import power
from tests.support.target.compiled import PLAIN, Elementwise

MOST_ULP = 2
ODD = [0, -0.0, -1e-45, -87.33, -103.9, -104, -105, -1e9, -3e38, -np.inf, np.nan]


def powers(x: Any, target: str) -> Any:
    return Elementwise([power], x.dtype.name).by_machine_code(x, target=target)[0]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", PLAIN])
def test_powers_of_float32_are_as_near_as_is_said(target: str) -> None:
    sizes = 10 ** np.linspace(-45, 2.04, 20_000)
    even = np.linspace(0, 110, 20_000)
    x = np.concatenate([-sizes, -even, ODD]).astype("float32")
    found = powers(x, target)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype("float64"))
    assert np.isnan(found[-1])
    off = np.abs(found[:-1].astype("float64") - exact[:-1])
    ulp = np.spacing(exact[:-1].astype("float32")).astype("float64")
    assert (off / ulp).max() <= MOST_ULP


def test_of_what_is_far_below_0_they_are_0() -> None:
    x = np.array([-104.1, -1e9, -np.inf], "float32")
    assert powers(x, "llvm").tolist() == [0, 0, 0]


def test_those_of_float64_are_the_ones_of_c() -> None:
    x = np.linspace(-700, 0, 50)
    np.testing.assert_allclose(powers(x, "llvm"), np.exp(x), rtol=1e-15)
