"""Every rule of lowering: what its loops compute is what the operator means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay import op
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Constant, const
from parpass.relay.op import nn
from parpass.relay.op.tensor import elementwise
from tests.support.profiles import examples
from tests.support.relay.lowered import interpreted, lowered
from tests.support.relay.op.calls import Array, floats
from tests.support.relay.op.dtypes import rounded, with_floats
from tests.support.relay.op.operators import GENERATED
from tests.support.relay.op.rules_of_lowering import (
    SUMS,
    TOLERANCE,
    WITH_RULE,
    WITHOUT_RULE,
    assert_means_the_same,
    by_machine,
    calls,
    meaning,
)
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests


def assert_computes(name: str, share: float, **how: Any) -> None:
    @examples(share)
    @given(calls(name))
    def holds(built: Built) -> None:
        assert_means_the_same(built, **how)

    holds()


@pytest.mark.parametrize("name", WITH_RULE)
def test_loops_compute_what_the_operator_means(name: str) -> None:
    assert_computes(name, 0.05)


@pytest.mark.stress
@pytest.mark.parametrize("name", WITH_RULE)
def test_loops_compute_what_the_operator_means_of_many_calls(name: str) -> None:
    assert_computes(name, 1.5)


@pytest.mark.parametrize("name", sorted(WITHOUT_RULE))
def test_what_has_no_rule_is_said_to_have_none(name: str) -> None:
    @examples(0.05)
    @given(st.composite(GENERATED[name])())
    def refused(built: Built) -> None:
        with pytest.raises(NoRuleError, match=rf"no rule for '{name}'"):
            lowered(built)

    refused()


def assert_computes_narrow(name: str, share: float) -> None:
    @examples(share)
    @given(calls(name), st.sampled_from(["bfloat16", "float16"]))
    def holds(built: Built, dtype: str) -> None:
        narrow = with_floats(built, lambda values: rounded(values, dtype))
        assert_means_the_same(narrow)

    holds()


@pytest.mark.parametrize(
    "name", ["exp", "nn.avg_pool2d", "nn.lrn", "nn.softmax", "sum", "where"]
)
def test_narrow_floats_are_computed_as_wider_ones(name: str) -> None:
    assert_computes_narrow(name, 0.1)


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted({*WITH_RULE} - {"reinterpret"}))
def test_narrow_floats_of_all_operators_are_computed_as_wider_ones(name: str) -> None:
    assert_computes_narrow(name, 0.75)


# For floats there are templates that are faster.
PLAIN = [
    "nn.batch_matmul", "nn.contrib_conv2d_NCHWc", "nn.conv1d", "nn.conv2d", "nn.dense",
    "nn.matmul", "nn.max_pool2d",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_plain_loops_compute_ints(name: str) -> None:
    @examples(0.05)
    @given(calls(name))
    def holds(built: Built) -> None:
        whole = with_floats(built, lambda values: np.rint(values * 3).astype("int16"))
        assert_means_the_same(whole)

    holds()


ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 3e38, 1e-40, 7.0])


def odd(*shape: int, seed: int = 0) -> Constant:
    picked = np.random.default_rng(seed).choice(ODD, shape)
    return const(picked.astype("float32"))


ELEMENTWISE = sorted(
    name
    for name in elementwise.__all__
    if not name.startswith(("bitwise", "logical", "left", "right"))
)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_no_number_and_infinity_are_what_they_are_for_numpy(name: str) -> None:
    build = getattr(op, name)
    if name == "clip":
        built = op.clip(odd(40), -1, 2)
    else:
        parameters = inspect.signature(build).parameters.values()
        count = sum(one.default is one.empty for one in parameters)
        built = build(*[odd(40, seed=at) for at in range(count)])
    assert_means_the_same(built)


Run = Callable[[Built], list[Array]]

# The sums of its rows are beyond all ints; some means have a rest of either sign.
WIDE = [[2**63 - 1] * 2 + [-5], [-(2**63)] * 2 + [1], [-7, 0, 0], [7, 1, 0]]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("run", [interpreted, by_machine])
def test_a_mean_of_wide_ints_does_not_overflow(dtype: str, run: Run) -> None:
    wide = const(np.array(WIDE, "int64").astype(dtype))
    assert_means_the_same(op.mean(wide, 1), run)


@pytest.mark.parametrize("run", [interpreted, by_machine])
def test_an_unbiased_variance_of_one_is_a_quotient_by_0(run: Run) -> None:
    data, around = (const(np.array(of, "float32")) for of in ([[1], [2]], [[1], [3]]))
    built = op.variance(data, 1, unbiased=True, with_mean=around)
    assert_means_the_same(built, run)


@pytest.mark.parametrize("run", [interpreted, by_machine])
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_float64_images_have_all_digits_between_their_corners(
    method: str, run: Run
) -> None:
    data = const(np.linspace(-1, 7, 8).reshape(1, 2, 2, 2))
    built = nn.upsampling(data, 2.0, 3.0, method=method, align_corners=True)
    assert_means_the_same(built, run)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_groups_may_be_along_any_axis(axis: int) -> None:
    shape = 4, 6, 2
    gamma, beta = (floats(shape[axis], seed=seed) for seed in (1, 2))
    built = nn.group_norm(floats(*shape), gamma, beta, 2, axis=axis)
    assert_means_the_same(built)


@pytest.mark.parametrize(
    "built",
    [
        op.max(odd(4, 30), 1),
        op.min(odd(4, 30, seed=2), 1),
        op.argmax(odd(6, 5), 1),
        op.argmin(odd(6, 5, seed=1), 1, select_last_index=True),
        op.argmax(odd(6, 5, seed=1), [1, 0], select_last_index=True),
        nn.relu(odd(40)),
        nn.max_pool2d(odd(1, 1, 9, 9), 2, padding=1),
        nn.global_max_pool2d(odd(1, 3, 2, 2)),
    ],
    ids=str,
)
def test_of_extremes_what_is_no_number_wins(built: Built) -> None:
    assert_means_the_same(built)


ENDS = [-(2**31), 2**31 - 1, 0, -1, 2**31 - 1, 1, -(2**31), 5]


@pytest.mark.parametrize("is_ascend", [False, True])
@pytest.mark.parametrize("k", [1, 7, 29, 30])
@pytest.mark.parametrize(
    "data",
    [
        odd(4, 30),
        odd(3, 30, 2),
        const(np.array([ENDS * 4] * 2, "int32")),
        const(np.array([ENDS * 4] * 2, "int64").astype("uint32")),
        const(np.arange(120, dtype="uint8").reshape(4, 30)),
    ],
    ids=["floats", "columns", "int32", "uint32", "uint8"],
)
def test_the_best_elements_are_those_of_a_stable_sort(
    data: Constant, k: int, is_ascend: bool
) -> None:
    built = op.topk(data, k, 1, "both", is_ascend, "int64")
    assert_means_the_same(built, by_machine)


def test_what_cancels_is_as_near_as_its_operands() -> None:
    values = np.random.default_rng(3).normal(size=(1, 2, 1)).astype("float32")
    ones = np.ones(2, "float32")
    scaled = nn.group_norm(const(values), const(ones), const(0 * ones), 1)
    nearly = const(meaning(scaled)[0].reshape(2) * np.float32(-1.00001))
    built = nn.group_norm(const(values), const(ones), nearly, 1)
    assert_means_the_same(built, by_machine)


# How sums end that overflow depends on their order.
FAR_FROM_OVERFLOW = ODD[(np.abs(ODD) < 1e38) | ~np.isfinite(ODD)]


def partly(odd: Array, dtype: str) -> Callable[[Array], Array]:
    def change(values: Array) -> Array:
        rng = np.random.default_rng(values.size)
        picked = rng.choice(odd, values.shape)
        changed = np.where(rng.random(values.shape) < 0.3, picked, values)
        with np.errstate(over="ignore"):
            return rounded(changed, dtype)

    return change


@pytest.mark.stress
@pytest.mark.parametrize("name", WITH_RULE)
def test_no_number_and_infinity_are_what_they_are_in_all_operators(name: str) -> None:
    numbers = FAR_FROM_OVERFLOW if TOLERANCE.get(name) == SUMS else ODD

    @examples(0.3)
    @given(calls(name), st.sampled_from(["bfloat16", "float16", "float32", "float64"]))
    def holds(built: Built, dtype: str) -> None:
        odd = with_floats(built, partly(numbers, dtype))
        assert_means_the_same(odd, by_machine)

    holds()


INTS = ["int8", "uint16", "int32", "uint64"]


@pytest.mark.parametrize("dtype", INTS)
def test_ints_wrap_and_a_quotient_by_0_is_0(dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, 0, 1, 2, 7, info.max], dtype)
    lhs, rhs = const(ends[:, None]), const(np.array([*ends, ends[-1] // 2]))
    for name in (
        *("add", "subtract", "multiply", "divide", "floor_divide", "trunc_divide"),
        *("mod", "floor_mod", "trunc_mod", "maximum", "minimum", "less", "equal"),
    ):
        assert_means_the_same(getattr(op, name)(lhs, rhs))
    for name in ("abs", "negative", "sign", "floor"):
        assert_means_the_same(getattr(op, name)(const(ends)))


@pytest.mark.parametrize(
    "built",
    [
        op.take(floats(3, 4), const(np.array([-9, 0, 5, 2])), 0),
        op.take(
            floats(3, 4), const(np.array([-9, 0, 5, 200], "int16")), 1, mode="wrap"
        ),
        op.take(floats(300), const(np.array([-9, 100], "int8"))),
        op.gather(floats(3, 2), 0, const(np.array([[-1, 0], [-3, 2]]))),
        op.gather_nd(floats(3, 2), const(np.array([[-1, 0], [-2, 1]]))),
        op.adv_index(
            [floats(3, 2), const(np.array([[-1], [0]])), const(np.array([1]))]
        ),
        op.scatter_elements(
            floats(3, 2), const(np.array([[-1, 0], [-3, 2]])), floats(2, 2)
        ),
    ],
    ids=str,
)
def test_indices_out_of_range_are_what_the_operator_says(built: Built) -> None:
    assert_means_the_same(built)


@pytest.mark.parametrize("run", [interpreted, by_machine])
def test_of_elements_written_to_one_place_the_last_stays(run: Run) -> None:
    data, ends = floats(2, 4), const(np.array([[3, 1, 3, 3, 1], [0, 0, 2, 0, 2]]))
    assert_means_the_same(op.scatter_elements(data, ends, floats(2, 5), 1), run)


@pytest.mark.parametrize("reduction", ["add", "mul", "mean", "min", "max"])
def test_elements_that_are_combined_are_left_to_numpy(reduction: str) -> None:
    picked = const(np.zeros((2, 2), "int64"))
    built = op.scatter_elements(floats(3, 2), picked, floats(2, 2), 0, reduction)
    with pytest.raises(NoRuleError, match=f"elements combined by '{reduction}'"):
        lowered(built)


@pytest.mark.parametrize("run", [interpreted, by_machine])
@pytest.mark.parametrize("dtypes", [("int16", "int8"), ("uint8", "int8")])
def test_narrow_ints_of_two_kinds_are_multiplied(
    dtypes: tuple[str, str], run: Run
) -> None:
    draw = np.random.default_rng(0).integers
    data, weight = (
        const(draw(max(np.iinfo(dtype).min, -255), 128, shape).astype(dtype))
        for dtype, shape in zip(dtypes, [(3, 75), (19, 75)], strict=True)
    )
    assert_means_the_same(nn.dense(data, weight, out_dtype="int32"), run)


BY_MACHINE = [
    "add", "concatenate", "nn.avg_pool2d", "nn.bias_add", "nn.conv2d", "nn.dense",
    "nn.global_avg_pool2d", "nn.lrn", "nn.max_pool2d", "nn.relu", "nn.softmax",
    "reshape", "transpose",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_MACHINE)
def test_machine_code_computes_what_the_operator_means(name: str) -> None:
    assert_computes(name, 0.05, run=by_machine)


@pytest.mark.stress
@pytest.mark.parametrize("name", WITH_RULE)
def test_machine_code_of_all_rules_computes_what_the_operator_means(name: str) -> None:
    @examples(0.3)
    @given(calls(name))
    def holds(built: Built) -> None:
        assert_means_the_same(built, by_machine)

    holds()
