from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.op_registration import TempOpAttr
from parpass.relay import nn
from parpass.relay.transform import InferType, ToMixedPrecision
from parpass.relay.transform.extra import mixed_precision
from parpass.runner import Runner
from parpass.transform import PassContext
from tests.support.meaning import assert_parallel_is_serial
from tests.support.opt_pass import count_ops

X, W = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def module(body: relay.Expr) -> tvm.IRModule:
    params = relay.analysis.free_vars(body)
    return tvm.IRModule.from_expr(relay.Function(params, body))


def half(value: relay.Expr) -> relay.Expr:
    return relay.cast(value, "float16")


def dense(data: relay.Expr, weight: relay.Expr = W) -> relay.Expr:
    return nn.dense(data, weight)


def becomes(before: relay.Expr, after: relay.Expr) -> None:
    found = ToMixedPrecision()(InferType()(module(before)))
    tvm.ir.assert_structural_equal(found, InferType()(module(after)))


def test_a_cast_back_is_what_was_cast() -> None:
    rule = [mixed_precision.MIXED_PRECISION_ALWAYS, "float32", "float16"]

    def sums_in_more(*_: Any) -> list[Any]:
        return rule

    with TempOpAttr("nn.dense", "FTVMMixedPrecisionConversionType", sums_in_more):
        becomes(
            nn.softmax(dense(X)),
            nn.softmax(nn.dense(half(X), half(W), out_dtype="float32")),
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
    assert count_ops(low["main"])["cast"] == 8
    args = [np.ones((2, 3), "float32"), np.ones((4, 3), "float32"), True]
    for one in (mod, low):
        run: Any = relay.create_executor(mod=one).evaluate()
        assert np.array_equal(run(*args).numpy(), np.full((2, 4), 9.0, "float32"))


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


def test_a_closure_that_calls_itself_takes_and_gives_what_it_did():
    text = """def @main(%x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] {
      let %f = fn (%n: int32, %y: Tensor[(2, 2), float32])
      -> Tensor[(2, 2), float32] {
        %0 = less(%n, 1);
        if (%0) { %y } else {
          %1 = subtract(%n, 1);
          %2 = nn.dense(%y, %x);
          %f(%1, %2)
        }
      };
      %f(2, %x)
    }"""
    mod = InferType()(relay.parse(text))
    low = InferType()(ToMixedPrecision()(mod))
    assert low["main"].checked_type == mod["main"].checked_type
    assert "float16" in low.astext()
