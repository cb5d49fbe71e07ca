"""Sums at the ends of the range: what every order gives is what kernels give."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parpass import IRModule, relay
from parpass.errors import EvaluationError
from parpass.relay import op
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Call, const
from parpass.relay.op import nn
from parpass.runtime.dtypes import float_range, is_float_dtype, numpy_dtype
from parpass.target.build_library import linked, lowering
from tests.relay.backend.lowering.promised_sums import (
    ALL,
    Promise,
    assert_as_promised,
    promise,
)
from tests.support.relay.lowered import interpreted, lowered, results_for
from tests.support.relay.op.calls import Array, related
from tests.support.relay.op.dtypes import rounded, with_floats
from tests.support.relay.op.rules_of_lowering import by_machine, calls, meaning
from tests.support.relay.op.shapes import Built

DTYPES = ["bfloat16", "float16", "float32", "float64"]


def ends(dtype: str) -> list[list[float]]:
    """Return sets of numbers that stand at the ends of a dtype's range, or beyond."""
    least, most = float_range(dtype)
    tiny = float(np.asarray(least / 2).astype(numpy_dtype(dtype)))
    return [
        *([np.inf], [-np.inf], [np.inf, -np.inf], [np.nan]),
        *([most], [most, -most], [most / 2, -most / 2], [most / 3], [most**0.5]),
        *([tiny, -tiny], [np.inf, np.nan, most, -most, tiny, 0.0, -0.0]),
    ]


def at_the_ends(dtype: str, shape: Sequence[int], seed: int, share: float) -> Array:
    """Return random numbers, a share of them from one set of `ends`."""
    rng = np.random.default_rng(seed)
    sets = ends(dtype)
    picked = rng.choice(sets[rng.integers(len(sets))], shape)
    values = np.where(rng.random(shape) < share, picked, rng.standard_normal(shape))
    return rounded(values, dtype)


@st.composite
def sums(draw: st.DrawFn, name: str) -> Call:
    """Return a call of an operator that sums, on numbers at the ends."""
    dtype, share = draw(st.sampled_from(DTYPES)), draw(st.sampled_from([0.05, 0.3, 1]))
    seeds = iter(range(draw(st.integers(0, 2**16)) * 8, 2**32))

    def change(values: Array) -> Array:
        return at_the_ends(dtype, values.shape, next(seeds), share)

    call = with_floats(draw(calls(name)), change)
    assume(next(seeds) % 8)  # there are floats in it
    assume(is_float_dtype(getattr(related(call), "dtype", "")))
    return call


def assert_keeps_the_promise(
    call: Call, run: Callable[[Built], Sequence[Array]]
) -> None:
    try:
        (by_numpy,), (found,) = meaning(call), run(call)
    except (EvaluationError, NoRuleError):
        return
    promised = promise(call)
    assert_as_promised(by_numpy, promised)
    assert_as_promised(found, promised)


MOST = float_range("float32")[1]


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        ([MOST, MOST, -MOST], None),
        ([np.inf, MOST, MOST], None),
        ([np.inf, -MOST, -MOST], None),
        ([np.inf, MOST / 2, -MOST / 4], np.inf),
        ([np.inf, MOST, -np.inf], np.nan),
        ([np.nan, MOST, MOST], np.nan),
        ([-MOST, -MOST, 0], -np.inf),
        ([MOST / 2, -MOST / 4, 1], MOST / 4),
    ],
)
def test_what_is_promised_of_a_sum_is_what_every_order_gives(
    terms: list[float], wanted: float | None
) -> None:
    promised = promise(op.sum(const(np.array(terms, "float32"))))
    assert bool(promised.holds) == (wanted is not None)
    if wanted is None:
        return
    np.testing.assert_array_equal(promised.wanted, wanted)
    with np.errstate(over="ignore", invalid="ignore"):
        found = [
            (np.float32(one) + np.float32(other)) + np.float32(last)
            for one, other, last in itertools.permutations(terms)
        ]
    for one in found:
        assert_as_promised(np.asarray(one), promised)


@pytest.mark.parametrize(
    ("found", "wanted", "error", "may_be"),
    [
        (np.inf, 65_134.0, 8_192.0, True),
        (np.inf, 65_134.0, 0.0, False),
        (np.inf, 57_000.0, 8_192.0, False),
        (-np.inf, 65_134.0, 8_192.0, False),
        (-np.inf, -65_134.0, 8_192.0, True),
        (np.inf, 65_536.0, 0.0, True),
        (np.inf, 80_000.0, 8_192.0, True),
        (65_504.0, 70_000.0, 8_192.0, True),
        (65_504.0, 80_000.0, 8_192.0, False),
        (np.nan, 65_134.0, 8_192.0, False),
    ],
)
def test_a_half_float_is_what_one_of_the_sums_it_may_come_of_is_rounded_to(
    found: float, wanted: float, error: float, may_be: bool
) -> None:
    """As large products cancel, what is off may be more than a half float's digits."""
    promised = Promise(np.array(True), np.array(wanted), np.array(error))
    refused = pytest.raises(AssertionError)
    with contextlib.nullcontext() if may_be else refused:
        assert_as_promised(np.array(found, "float16"), promised)


# Those of which loops are interpreted soon.
SMALL = ["cumsum", "einsum", "mean", "nn.avg_pool1d", "nn.dense", "prod", "sum"]


@pytest.mark.slow
@given(st.sampled_from(SMALL).flatmap(sums))
def test_loops_and_interpreter_agree_where_every_order_does(call: Call) -> None:
    assert_keeps_the_promise(call, interpreted)


@pytest.mark.stress
@pytest.mark.parametrize("name", ALL)
def test_kernels_and_interpreter_agree_where_every_order_does(name: str) -> None:
    @given(sums(name))
    def holds(call: Call) -> None:
        assert_keeps_the_promise(call, by_machine)

    holds()


def many(dtype: str, *shape: int, seed: int = 0) -> relay.Constant:
    """Return rows of numbers, each from another set of `ends`."""
    rows = [
        at_the_ends(dtype, shape[1:], seed * shape[0] + at, (0.1, 0.4, 1.0)[at % 3])
        for at in range(shape[0])
    ]
    return const(np.stack(rows), dtype)


def at_all_ends(dtype: str) -> list[Call]:
    """Return sums of many rows, of each kind of loops that there is for sums."""
    few = at_the_ends("float32", (3, 6), 0, 0)
    weight = const(rounded(few, dtype), dtype)
    found = [op.sum(many(dtype, 60, 5), 1), nn.dense(many(dtype, 60, 6), weight)]
    if dtype in ("bfloat16", "float64"):
        return found
    image = const(rounded(few.reshape(3, 2, 3, 1), dtype), dtype)
    return [
        *found,
        op.mean(many(dtype, 60, 5), 1),
        nn.batch_matmul(many(dtype, 20, 2, 6), many(dtype, 20, 3, 6, seed=1)),
        nn.conv2d(many(dtype, 20, 2, 4, 4), image, padding=1),
        nn.global_avg_pool2d(many(dtype, 20, 2, 2, 2)),
    ]


def by_one_library(built: Sequence[Call]) -> list[Array]:
    """Return what the kernels of calls compute, compiled together."""
    made = [lowered(call) for call in built]
    names = [f"f{at}" for at in range(len(built))]
    functions = {
        name: func.with_attr("global_symbol", name)
        for name, (func, _) in zip(names, made, strict=True)
    }
    library = linked(lowering("llvm")(IRModule(functions)))
    found: list[Array] = []
    for name, (func, values) in zip(names, made, strict=True):
        (one,) = results = results_for(func)
        library[name](*values, *results)
        found.append(one)
    return found


@pytest.mark.slow
def test_machine_code_sums_as_promised_at_all_ends() -> None:
    built = [call for dtype in DTYPES for call in at_all_ends(dtype)]
    for call, found in zip(built, by_one_library(built), strict=True):
        promised = promise(call)
        assert promised.holds.mean() > 0.5
        assert_as_promised(found, promised)
        assert_as_promised(meaning(call)[0], promised)


# Three terms, in units of the largest float, and what the page says of their sum.
ROWS = {
    "an infinity beside numbers": ((np.inf, 0.25, 0.5), np.inf),
    "an infinity below": ((-np.inf, 0.25, -0.5), -np.inf),
    "infinities of both signs": ((np.inf, -np.inf, 0), np.nan),
    "a NaN": ((0.25, np.nan, 0.5), np.nan),
    "a NaN beside an infinity": ((np.inf, 1, np.nan), np.nan),
    "large numbers that cancel": ((0.5, -0.25, 0), 0.25),
    "more than the largest float": ((1, 1, 0), np.inf),
    "less than the least": ((0, -1, -1), -np.inf),
}


def rows_of_products(dtype: str, weight: float) -> dict[str, Call]:
    """Return the sums of `ROWS`, each term times a weight, by each kind of loops."""
    terms = [np.multiply(row, float_range(dtype)[1]) for row, _ in ROWS.values()]
    rows, weights = rounded(np.array(terms), dtype), rounded(np.full(3, weight), dtype)
    data, kernel = rows.reshape(-1, 3, 1, 1), weights.reshape(1, 3, 1, 1)
    return {
        "nn.dense": nn.dense(const(rows), const(weights[None])),
        "nn.batch_matmul": nn.batch_matmul(
            const(rows[None]), const(weights[None, None])
        ),
        "nn.conv2d": nn.conv2d(const(data), const(kernel)),
        "mean": op.mean(const(rows), 1),
    }


def check_row(name: str, dtype: str, row: str, result: float) -> None:
    """Compare a result with what docs/machine-code.md says of it."""
    terms, wanted = ROWS[row]
    most, total = float_range(dtype)[1], sum(terms)
    if name == "mean" and np.isfinite(total):
        # Halves are summed in float32, in which nothing overflows here.
        may_be_infinite = np.isinf(wanted) and dtype != "float16"
        if may_be_infinite and result == wanted:
            return
        wanted = total / 3
    wanted *= most
    np.testing.assert_allclose(
        result, wanted, rtol=2e-3 if dtype == "float16" else 1e-6
    )


@pytest.mark.slow
def test_of_infinities_nans_and_the_largest_floats_the_page_tells_what_comes() -> None:
    cases = [
        (name, dtype, call)
        for dtype in ("float16", "float32", "float64")
        for name, call in rows_of_products(dtype, 1.0).items()
    ]
    kernels = by_one_library([call for *_, call in cases])
    for (name, dtype, call), compiled in zip(cases, kernels, strict=True):
        for results in (compiled, meaning(call)[0]):
            for row, result in zip(ROWS, results.ravel(), strict=True):
                check_row(name, dtype, row, float(result))


@pytest.mark.slow
def test_an_infinity_times_0_is_a_nan_among_others() -> None:
    undefined = [not np.isfinite(terms).all() for terms, _ in ROWS.values()]
    calls = [
        call
        for dtype in ("float16", "float32", "float64")
        for name, call in rows_of_products(dtype, 0.0).items()
        if name != "mean"
    ]
    for call, compiled in zip(calls, by_one_library(calls), strict=True):
        for results in (compiled, meaning(call)[0]):
            np.testing.assert_array_equal(np.isnan(results.ravel()), undefined)
            assert not results.ravel()[np.logical_not(undefined)].any()
