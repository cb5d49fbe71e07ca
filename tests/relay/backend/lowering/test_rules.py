"""Every rule of lowering: what its loops compute is what the operator means."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parpass.relay import op
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Constant, TupleWrapper, const
from parpass.relay.op import nn
from parpass.relay.op.tensor import broadcast, elementwise
from tests.support.compiled import compiled
from tests.support.lowered import interpreted, lowered, results_for
from tests.support.nn_strategies import NETWORKS
from tests.support.op_calls import Array, floats, ints, value
from tests.support.op_dtypes import rounded, with_floats
from tests.support.op_shapes import Built
from tests.support.op_strategies import TENSORS

GENERATED = TENSORS | NETWORKS

# What numpy computes; each is left to it by name.
WITHOUT_RULE = {
    *("annotation.compiler_begin", "annotation.compiler_end", "argsort", "argwhere"),
    *("scatter_elements", "scatter_nd", "searchsorted", "sort", "sparse_to_dense"),
    *("debug", "nn.avg_pool2d_grad", "nn.max_pool2d_grad", "topk"),
}
WITH_RULE = sorted(GENERATED.keys() - WITHOUT_RULE)

# How far a result may be from numpy's, in parts of the largest element: where sums are
# in another order, and where a function of numpy's own is rounded otherwise. All other
# operators give numpy's very values.
_SUMS = 1e-5
TOLERANCE = {
    **dict.fromkeys(("sum", "mean", "prod", "variance", "cumsum", "cumprod"), _SUMS),
    **{name: _SUMS for name in NETWORKS if "conv" in name or "norm" in name},
    **{name: _SUMS for name in NETWORKS if "avg_pool" in name or "softmax" in name},
    **dict.fromkeys(("nn.dense", "nn.matmul", "nn.batch_matmul", "nn.lrn"), _SUMS),
    **dict.fromkeys(("sigmoid", "rsqrt", "nn.l2_normalize"), 1e-6),
    **{name: _SUMS for name in NETWORKS if "cross" in name or "loss" in name},
    **dict.fromkeys(("collapse_sum_like", "collapse_sum_to", "einsum"), _SUMS),
}
# Of machine code, where functions are polynomials, or C's and not numpy's.
OF_MACHINE = 1e-6
# Half of the last digit, so far may a value be from the exact one.
HALF_DIGIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


@st.composite
def calls(draw: st.DrawFn, name: str) -> Built:
    built = GENERATED[name](draw)
    # To have a tuple of one field is the privilege of numpy.
    assume(not isinstance(built, TupleWrapper) or len(built) > 1)
    return built


def meaning(built: Built) -> Sequence[Array]:
    found = value(built)
    return cast("Any", found) if isinstance(found, tuple) else [found]


def by_machine(built: Built) -> list[Array]:
    func, values = lowered(built)
    results = results_for(func)
    compiled(func)["main"](*[np.array(one) for one in values], *results)
    return results


def assert_means_the_same(
    built: Built, tolerance: float, run: Callable[[Built], list[Array]] = interpreted
) -> None:
    for found, wanted in zip(run(built), meaning(built), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        if found.dtype.name == "bfloat16":
            found, wanted = found.astype("float32"), wanted.astype("float32")
        if not tolerance or found.dtype.kind in "iub":
            np.testing.assert_array_equal(found, wanted)
            continue
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        np.testing.assert_allclose(found, wanted, tolerance, tolerance * largest)


def assert_computes(name: str, examples: int, **how: Any) -> None:
    @settings(max_examples=examples, database=None, deadline=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        assert_means_the_same(built, TOLERANCE.get(name, 0), **how)

    holds()


@pytest.mark.parametrize("name", WITH_RULE)
def test_loops_compute_what_the_operator_means(name: str) -> None:
    assert_computes(name, 1)


@pytest.mark.stress
@pytest.mark.parametrize("name", WITH_RULE)
def test_loops_compute_what_the_operator_means_of_many_calls(name: str) -> None:
    assert_computes(name, 30)


@pytest.mark.parametrize("name", sorted(WITHOUT_RULE))
def test_what_has_no_rule_is_said_to_have_none(name: str) -> None:
    @settings(max_examples=1, database=None, deadline=None)
    @given(st.composite(GENERATED[name])())
    def refused(built: Built) -> None:
        with pytest.raises(NoRuleError, match=rf"no rule for '{name}'"):
            lowered(built)

    refused()


def assert_computes_narrow(name: str, examples: int) -> None:
    @settings(max_examples=examples, database=None, deadline=None)
    @given(calls(name), st.sampled_from(sorted(HALF_DIGIT)))
    def holds(built: Built, dtype: str) -> None:
        narrow = with_floats(built, lambda values: rounded(values, dtype))
        assert_means_the_same(narrow, HALF_DIGIT[dtype])

    holds()


@pytest.mark.parametrize(
    "name", ["exp", "nn.avg_pool2d", "nn.lrn", "nn.softmax", "sum", "where"]
)
def test_narrow_floats_are_computed_as_wider_ones(name: str) -> None:
    assert_computes_narrow(name, 2)


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted({*WITH_RULE} - {"reinterpret"}))
def test_narrow_floats_of_all_operators_are_computed_as_wider_ones(name: str) -> None:
    assert_computes_narrow(name, 15)


# For floats there are templates that are faster.
PLAIN = [
    "nn.batch_matmul", "nn.contrib_conv2d_NCHWc", "nn.conv1d", "nn.conv2d", "nn.dense",
    "nn.matmul", "nn.max_pool2d",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_plain_loops_compute_ints(name: str) -> None:
    @settings(max_examples=1, database=None, deadline=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        whole = with_floats(built, lambda values: np.rint(values * 3).astype("int16"))
        assert_means_the_same(whole, 0)

    holds()


ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 3e38, 1e-40, 7.0])


def odd(*shape: int, seed: int = 0) -> Constant:
    picked = np.random.default_rng(seed).choice(ODD, shape)
    return const(picked.astype("float32"))


ELEMENTWISE = sorted(
    name
    for name in (*elementwise.__all__, *broadcast.__all__)
    if not name.startswith(("bitwise", "logical", "left", "right"))
)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_no_number_and_infinity_are_what_they_are_for_numpy(name: str) -> None:
    build = getattr(op, name)
    if name == "clip":
        built = op.clip(odd(40), -1, 2)
    else:
        count = 3 if name == "where" else 2 if name in broadcast.__all__ else 1
        built = build(*[odd(40, seed=at) for at in range(count)])
    assert_means_the_same(built, 1e-6)


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
    assert_means_the_same(built, 0)


def partly_odd(values: Array) -> Array:
    rng = np.random.default_rng(values.size)
    picked = rng.choice(ODD, values.shape)
    return np.where(rng.random(values.shape) < 0.3, picked, values).astype("float32")


# Of convolutions numpy multiplies padding, too, and 0 times infinity is no number.
@pytest.mark.stress
@pytest.mark.parametrize("name", [one for one in WITH_RULE if "conv" not in one])
def test_no_number_and_infinity_are_what_they_are_in_all_operators(name: str) -> None:
    # Always the same calls: how sums that overflow end depends on their order.
    @settings(max_examples=2, database=None, deadline=None, derandomize=True)
    @given(calls(name))
    def holds(built: Built) -> None:
        tolerance = max(TOLERANCE.get(name, 0), 1e-6)
        assert_means_the_same(with_floats(built, partly_odd), tolerance)

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
        assert_means_the_same(getattr(op, name)(lhs, rhs), 0)
    for name in ("abs", "negative", "sign", "floor"):
        assert_means_the_same(getattr(op, name)(const(ends)), 0)


EMPTY = [
    op.add(floats(0, 3), floats(1)),
    op.concatenate([floats(0, 2), floats(3, 2), floats(0, 2)], 0),
    op.concatenate([floats(0, 2), floats(0, 2)], 0),
    op.reshape(floats(0, 4), (2, 0), allowzero=True),
    op.sum(floats(3, 0), 1),
    op.max(floats(3, 0), 1),
    op.max(ints(0)),
    op.all(const(np.zeros((2, 0), bool)), 1),
    op.transpose(floats(2, 0, 3)),
    op.take(floats(3, 2), const(np.zeros(0, "int32")), 0),
    op.tile(floats(0, 2), (2, 2)),
    nn.dense(floats(2, 0), floats(3, 0)),
    nn.softmax(floats(0, 3)),
    nn.conv2d(floats(0, 2, 4, 4), floats(3, 2, 1, 1)),
    nn.pad(floats(0, 2), ((1, 1), (0, 0))),
    nn.batch_flatten(floats(0, 2, 2)),
]


@pytest.mark.parametrize("built", EMPTY, ids=str)
def test_tensors_without_elements_are_computed(built: Built) -> None:
    assert_means_the_same(built, 0)


@pytest.mark.parametrize(
    "built",
    [
        op.max(floats(2, 0, 3), 2),
        nn.softmax(floats(2, 0)),
        op.argmax(floats(2, 0), 1),
        op.take(floats(0, 2), const(np.zeros(1, "int32")), 0),
    ],
    ids=str,
)
def test_what_is_an_error_of_numpys_is_never_an_access_out_of_bounds(
    built: Built,
) -> None:
    with contextlib.suppress(NoRuleError):
        interpreted(built)


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
    ],
    ids=str,
)
def test_indices_out_of_range_are_what_the_operator_says(built: Built) -> None:
    assert_means_the_same(built, 0)


BY_MACHINE = [
    "add", "concatenate", "nn.avg_pool2d", "nn.bias_add", "nn.conv2d", "nn.dense",
    "nn.global_avg_pool2d", "nn.lrn", "nn.max_pool2d", "nn.relu", "nn.softmax",
    "reshape", "transpose",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_MACHINE)
def test_machine_code_computes_what_the_operator_means(name: str) -> None:
    assert_computes(name, 1, run=by_machine)


@pytest.mark.stress
@pytest.mark.parametrize("name", WITH_RULE)
def test_machine_code_of_all_rules_computes_what_the_operator_means(name: str) -> None:
    @settings(max_examples=6, database=None, deadline=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        assert_means_the_same(built, TOLERANCE.get(name, OF_MACHINE), by_machine)

    holds()
