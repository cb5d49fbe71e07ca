from __future__ import annotations

from typing import Any

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.op_registration import TempOpAttr
from parpass.relay import nn
from parpass.relay.transform import InferType, ToMixedPrecision
from parpass.relay.transform.extra import mixed_precision
from parpass.runner import Runner
from tests.support.meaning import assert_parallel_is_serial

X, W = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))


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
