from __future__ import annotations

import importlib

import parpass as tvm
from parpass import relay
from parpass.relay import nn
from parpass.relay.transform import recast

X, W = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 3))


def low(data: relay.Expr) -> relay.Expr:
    args = (relay.cast(data, "int8"), relay.cast(W, "int8"))
    return relay.cast(nn.dense(*args, out_dtype="int32"), "float32")


def test_chosen_operators_compute_between_casts() -> None:
    both = nn.dense(nn.dense(X, W), W)
    found = recast(both, "int8", "int32", ["nn.dense"])
    tvm.ir.assert_structural_equal(found, low(low(X)))
    first = recast(both, "int8", "int32", ["nn.dense"], skip_layers=[-1])
    tvm.ir.assert_structural_equal(first, nn.dense(low(X), W))
    last = recast(both, "int8", "int32", ["nn.dense"], skip_layers=[0])
    tvm.ir.assert_structural_equal(last, low(nn.dense(X, W)))


def test_tuples_are_cast_field_by_field_and_other_operators_stay() -> None:
    joined = relay.concatenate([X, nn.relu(X)], 0)
    found = recast(joined, "float16", "float32", ["concatenate"])
    fields = [relay.cast(one, "float16") for one in (X, nn.relu(X))]
    wanted = relay.cast(relay.concatenate(fields, 0), "float32")
    tvm.ir.assert_structural_equal(found, wanted)
    assert recast(joined, "float16", "float32") is joined


def test_its_name_is_that_of_no_module() -> None:
    importlib.import_module("parpass.relay.transform.shipped")
    assert callable(relay.transform.recast)
