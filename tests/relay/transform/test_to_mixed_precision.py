from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.diagnostic import Diagnostic, override_renderer
from parpass.errors import ArgumentError, DiagnosticError
from parpass.ir.operators.op_attrs import TempOpAttr
from parpass.relay import nn
from parpass.relay.transform import InferType, ToMixedPrecision, mixed_precision
from parpass.runner import Runner
from parpass.transform import PassContext
from tests.support.docs import shows
from tests.support.meaning import assert_parallel_is_serial

X, W = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def module(body: relay.Expr) -> tvm.IRModule:
    params = relay.analysis.free_vars(body)
    return tvm.IRModule.from_expr(relay.Function(params, body))


def half(value: relay.Expr) -> relay.Expr:
    return relay.cast(value, "float16")


def dense(data: relay.Expr, weight: relay.Expr = W) -> relay.Expr:
    return nn.dense(data, weight)


LOW = nn.dense(half(X), half(W), out_dtype="float16")


def becomes(before: relay.Expr, after: relay.Expr) -> None:
    found = ToMixedPrecision()(InferType()(module(before)))
    tvm.ir.assert_structural_equal(found, InferType()(module(after)))


def test_products_are_computed_in_fewer_bits_and_what_never_is_is_not() -> None:
    before = module(nn.softmax(dense(X)))
    assert shows(ToMixedPrecision, before, ToMixedPrecision()(InferType()(before)))


def test_what_follows_is_of_few_bits_where_all_it_needs_is() -> None:
    product = dense(X)
    becomes(nn.relu(product) + product, nn.relu(LOW) + LOW)
    bias = relay.var("bias", shape=(4,))
    becomes(nn.bias_add(dense(X), bias), nn.bias_add(LOW, half(bias)))
    soft = nn.softmax(relay.var("s", shape=(2, 4)))
    becomes(dense(X) + soft, relay.cast(LOW, "float32") + soft)
    becomes(soft + soft, soft + soft)


def test_a_cast_back_is_what_was_cast() -> None:
    rule = [mixed_precision.MIXED_PRECISION_ALWAYS, "float32", "float16"]

    def sums_in_more(*_: Any) -> list[Any]:
        return rule

    with TempOpAttr("nn.dense", "FTVMMixedPrecisionConversionType", sums_in_more):
        becomes(
            nn.softmax(dense(X)),
            nn.softmax(nn.dense(half(X), half(W), out_dtype="float32")),
        )


def test_variables_have_the_types_of_their_values() -> None:
    one, low = (
        relay.var("v", shape=(2, 4)),
        relay.var("v", shape=(2, 4), dtype="float16"),
    )
    becomes(relay.Let(one, dense(X), one + one), relay.Let(low, LOW, low + low))


def test_tuples_are_cast_field_by_field() -> None:
    both = relay.concatenate([dense(X), X], 1)
    back = relay.cast(LOW, "float32")
    becomes(both, relay.concatenate([back, X], 1))
    twice = relay.split(dense(X), 2, 1)
    low = relay.split(LOW, 2, 1)
    becomes(twice[0] + twice[1], low[0] + low[1])
    mixed = relay.concatenate([dense(X), relay.exp(relay.var("e", shape=(2, 4)))], 0)
    back = relay.cast(LOW, "float32")
    becomes(
        mixed, relay.concatenate([back, relay.exp(relay.var("e", shape=(2, 4)))], 0)
    )


PROGRAM = """
type Box { Box(Tensor[(2, 4), float32]) }
def @inner(%x: Tensor[(2, 4), float32]) -> Tensor[(2, 4), float32] {
  nn.relu(%x)
}
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], %c: bool)
    -> Tensor[(2, 4), float32] {
  let %f = fn (%y: Tensor[(2, 3), float32]) { nn.dense(%y, %w) };
  let %cell = ref(nn.dense(%x, %w));
  let %u = ref_write(%cell, nn.dense(%x, %w));
  let %boxed = Box(if (%c) { %f(%x) } else { nn.dense(%x, %w) });
  match (%boxed) {
    Box(%z) => add(@inner(nn.dense(%x, %w)), add(%z, ref_read(%cell)))
  }
}
"""


def test_closures_branches_data_types_and_references_keep_their_dtypes() -> None:
    mod = InferType()(relay.parse('#[version = "0.0.5"]' + PROGRAM))
    with PassContext(config=KEEP):
        low = ToMixedPrecision()(mod)
    assert low["main"].checked_type == mod["main"].checked_type
    assert relay.testing.count_ops(low["main"])["cast"] == 8
    args = [np.ones((2, 3), "float32"), np.ones((4, 3), "float32"), True]
    for one in (mod, low):
        run: Any = relay.create_executor(mod=one).evaluate()
        assert np.array_equal(run(*args).numpy(), np.full((2, 4), 9.0, "float32"))


def test_other_floats_than_float32_get_theirs_back() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float64")
    w = relay.var("w", shape=(4, 3), dtype="float64")
    low = nn.dense(half(x), half(w), out_dtype="float16")
    becomes(relay.exp(nn.dense(x, w)), relay.exp(relay.cast(low, "float64")))


def test_an_operator_in_no_list_follows_with_a_note_or_is_an_error() -> None:
    mod = InferType()(module(relay.rsqrt(dense(X))))
    said: list[Diagnostic] = []
    override_renderer(lambda context: said.extend(context.diagnostics))
    try:
        follows = ToMixedPrecision()(mod)
        assert "operator 'rsqrt' is in no list" in str(said)
        said.clear()
        assert tvm.ir.structural_equal(ToMixedPrecision("float16", 2)(mod), follows)
        assert not said
        with pytest.raises(DiagnosticError, match="'rsqrt' is in no list"):
            ToMixedPrecision(missing_op_mode=0)(mod)
    finally:
        override_renderer(None)
    becomes(relay.rsqrt(dense(X)), relay.rsqrt(LOW))


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("int8",), "expected a dtype of floats"),
        (("half",), "expected a dtype of floats"),
        (("float16", 3), "missing_op_mode 0, 1 or 2"),
    ],
)
def test_wrong_options_are_refused(args: Any, error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        ToMixedPrecision(*args)


@pytest.mark.slow
def test_it_runs_in_workers_as_it_does_here(runner: Runner) -> None:
    functions = {f"f{at}": module(nn.softmax(dense(X)))["main"] for at in range(8)}
    assert_parallel_is_serial(runner, ToMixedPrecision(), tvm.IRModule(functions))
