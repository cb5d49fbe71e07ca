"""Elementary functions are as near to numpy's, of float64, as is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass import tir
from parpass.runtime.dtypes import numpy_dtype
from parpass.target.lower_elementary import FUNCTIONS, FUSED, MOST_ULP
from tests.support.special_floats import assert_same_bits
from tests.support.target.compiled import PLAIN, Elementwise, compiled


def exp10(x: Any) -> Any:
    return np.power(10.0, x)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


ERF: Callable[..., Any] = np.vectorize(math.erf, otypes=["float64"])
OF_TWO = {"pow": np.power, "hypot": np.hypot}
WIDE: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("cosh", "exp", "exp2", "log", "log10")},
    **{name: getattr(np, name) for name in ("log1p", "log2", "sinh", "tanh")},
    **{name: getattr(np, name) for name in ("cos", "sin")},
    "erf": ERF,
    "exp10": exp10,
    "sigmoid": sigmoid,
}


def call(name: str, dtype: str) -> Callable[..., Any]:
    def build(*args: Any) -> Any:
        return tir.call_intrin(dtype, name, *args)

    return build


def floats(count: int, seed: int) -> Any:
    """Return floats of all sizes, many of middle ones, and those that are special."""
    random = np.random.default_rng(seed)
    some = random.integers(0, 2**32, count, "uint32").view("float32")
    middle = random.normal(0, 4, count).astype("float32")
    special = [0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, np.inf, -np.inf, np.nan, 1e-45, 88.7]
    powers = 2.0 ** np.arange(-126, 128)
    return np.concatenate([some, middle, np.array([*special, *powers], "float32")])


def assert_near(found: Any, exact: Any, most: float) -> None:
    """Compare with results of float64, in units of the last place."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        assert (np.isnan(rounded) == np.isnan(found)).all()
        finite = np.isfinite(rounded) & np.isfinite(found)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        zeros = (found == 0) & (rounded == 0)
        np.testing.assert_array_equal(
            np.signbit(found)[zeros], np.signbit(rounded)[zeros]
        )
        off = np.abs(found[finite].astype("float64") - exact[finite])
        ulp = np.spacing(np.abs(rounded[finite])).astype("float64")
        assert (off / ulp).max() <= most


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", PLAIN])
def test_functions_of_float32_are_as_near_as_is_said(target: str) -> None:
    names = [name for name in FUNCTIONS if name in WIDE]
    made = Elementwise([call(name, "float32") for name in names], "float32")
    x = floats(20_000, 1)
    for name, found in zip(names, made.by_machine_code(x, target=target), strict=True):
        with np.errstate(all="ignore"):
            assert_near(found, WIDE[name](x.astype("float64")), MOST_ULP)


WAVES = ("sin", "cos")


def test_waves_are_as_near_where_they_are_least() -> None:
    x = (np.arange(-(2**20), 2**20, 3) * (np.pi / 2)).astype("float32")
    made = Elementwise([call(name, "float32") for name in WAVES], "float32")
    for name, found in zip(WAVES, made.by_machine_code(x), strict=True):
        assert_near(found, WIDE[name](x.astype("float64")), MOST_ULP)


@pytest.mark.parametrize("lanes", [3, 9, 16])
@pytest.mark.parametrize("target", ["llvm", PLAIN])
def test_waves_do_not_depend_on_how_far_neighbours_are(target: str, lanes: int) -> None:
    a, b = (tir.decl_buffer((lanes,), "float32", one) for one in "AB")
    some = [0, -0.0, np.nan, -1e30, 2.0**20, np.inf, 1, 0.5]
    x = np.array([*some, *some, *some][-lanes:], "float32")
    x[-1] = 1e20  # of an odd number of lanes the one that has no neighbour
    for name in WAVES:
        run, alone = (
            compiled(tir.PrimFunc((a, b), tir.For(i, 0, lanes, kind, store)), target)
            for kind in (tir.ForKind.VECTORIZED, tir.ForKind.SERIAL)
            for i in [tir.Var("i")]
            for store in [b.vstore([i], call(name, "float32")(a.vload([i])))]
        )
        found, one_by_one = np.zeros((2, lanes), "float32")
        run["main"](x, found)
        alone["main"](x, one_by_one)
        assert_same_bits(found, one_by_one)


@pytest.mark.slow
def test_functions_of_two_are_as_well() -> None:
    a, b = floats(20_000, 2), floats(20_000, 3)
    special = a[-268:-240]
    pairs = np.array(np.meshgrid(special, special), "float32").reshape(2, -1)
    x, y = np.concatenate([a, pairs[0]]), np.concatenate([b, pairs[1]])
    made = Elementwise([call(name, "float32") for name in OF_TWO], *["float32"] * 2)
    found = made.by_machine_code(x, y)
    for compute, one in zip(OF_TWO.values(), found, strict=True):
        with np.errstate(all="ignore"):
            exact = compute(x.astype("float64"), y.astype("float64"))
        assert_near(one, exact, MOST_ULP)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_square_and_a_cube_are_rounded_once(dtype: str) -> None:
    def power(exponent: int) -> Callable[..., Any]:
        def build(x: Any) -> Any:
            return tir.power(x, tir.const(exponent, dtype))

        return build

    with np.errstate(all="ignore"):
        x = floats(2_000, 5).astype(numpy_dtype(dtype))
        wide = x.astype("float64")
        exact = [one.astype(x.dtype) for one in (wide * wide, wide * wide * wide)]
    made = Elementwise([power(2), power(3)], dtype)
    for one, other in zip(made.by_machine_code(x), exact, strict=True):
        assert_same_bits(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_functions_of_narrow_floats_are_rounded_once(dtype: str) -> None:
    names = [name for name in FUNCTIONS if name in WIDE]
    made = Elementwise([call(name, dtype) for name in names], dtype)
    x = np.arange(2**16, dtype="uint16").view(numpy_dtype(dtype))
    with np.errstate(invalid="ignore"):
        wide = x.astype("float64")
    for name, found in zip(names, made.by_machine_code(x), strict=True):
        with np.errstate(all="ignore"):
            exact = WIDE[name](wide)
            near = exact.astype(numpy_dtype(dtype)).astype("float64")
            got = found.astype("float64")
        assert (np.isnan(near) == np.isnan(got)).all()
        # Where float64 itself is between two of them, either may come.
        assert (got[~np.isnan(got)] != near[~np.isnan(near)]).mean() < 1e-3


@pytest.mark.slow
def test_all_machines_give_the_same_bits() -> None:
    made = Elementwise([call(name, "float32") for name in WIDE], "float32")
    x = floats(2000, 4)
    here = made.by_machine_code(x)
    for one, other in zip(here, made.by_machine_code(x, target=PLAIN), strict=True):
        np.testing.assert_array_equal(one.view("uint32"), other.view("uint32"))


@pytest.mark.stress
@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("name", sorted(FUSED))
def test_all_machines_give_the_same_bits_for_every_float(
    name: str, quarter: int
) -> None:
    count, lanes = 2**20, 16
    a, b = (tir.decl_buffer((count,), "float32", one) for one in "AB")
    i, j = tir.Var("i"), tir.Var("j")
    at = i * lanes + j
    store = b.vstore([at], call(name, "float32")(a.vload([at])))
    inner = tir.For(j, 0, lanes, tir.ForKind.VECTORIZED, store)
    outer = tir.For(i, 0, count // lanes, tir.ForKind.SERIAL, inner)
    func = tir.PrimFunc((a, b), outer)
    runs = [compiled(func, target)["main"] for target in ("llvm", PLAIN)]
    bits = np.arange(count, dtype="uint32") + np.uint32(quarter * 2**30)
    one, other = np.zeros((2, count), "float32")
    for _ in range(2**30 // count):
        x = bits.view("float32")
        for run, found in zip(runs, (one, other), strict=True):
            run(x, found)
        np.testing.assert_array_equal(one, other)  # of a NaN the bits may differ
        bits += np.uint32(count)


def test_those_of_float64_are_the_ones_of_c() -> None:
    names = ("exp", "log", "tanh", "erf", "sin", "atan", "acosh")
    calls = [call(name, "float64") for name in names]
    x = np.linspace(1.1, 3, 7)
    results = Elementwise(calls, "float64").by_machine_code(x)
    found = dict(zip(names, results, strict=True))
    np.testing.assert_allclose(found["acosh"], np.arccosh(x), rtol=1e-15)
    np.testing.assert_allclose(found["exp"], np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(found["erf"], ERF(x), rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "erf", "sigmoid"])
def test_a_vectorized_loop_has_vectors_of_them(name: str) -> None:
    a, b = (tir.decl_buffer((32,), "float32", one) for one in "AB")
    i, j = tir.Var("i"), tir.Var("j")
    at = i * 8 + j
    store = b.vstore([at], call(name, "float32")(a.vload([at])))
    inner = tir.For(j, 0, 8, tir.ForKind.VECTORIZED, store)
    func = tir.PrimFunc((a, b), tir.For(i, 0, 4, tir.ForKind.SERIAL, inner))
    x, found = np.linspace(0.1, 3, 32, dtype="float32"), np.zeros(32, "float32")
    compiled(func)["main"](x, found)
    assert_near(found, WIDE[name](x.astype("float64")), MOST_ULP)
