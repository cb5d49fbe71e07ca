from __future__ import annotations

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import IRError
from parpass.relay.interpreter.interpreter import get_calibration_data
from parpass.relay.transform import InferType

X, Y = (relay.var(name, shape=(2,)) for name in "xy")
PAIR, NEGATED = relay.GlobalVar("pair"), relay.GlobalVar("negated")


def module(body: relay.Expr) -> tvm.IRModule:
    pair = relay.Function((X, Y), relay.Tuple((X + Y, X - Y)))
    negated = relay.Function((X,), relay.negative(X))
    mod = tvm.IRModule()
    mod[PAIR] = pair.with_attr("Compiler", "test")
    mod[NEGATED] = negated.with_attr("Compiler", "test")
    mod["main"] = relay.Function((X, Y), body)
    return InferType()(mod)


def test_what_goes_in_and_comes_out_is_by_function() -> None:
    first = relay.TupleGetItem(PAIR(X, Y), 0)
    x, y = np.array([1, 2], "float32"), np.array([5, 7], "float32")
    data = get_calibration_data(module(relay.exp(NEGATED(first))), {"x": x, "y": y})
    seen = {
        (var.name_hint, way): [one.numpy().tolist() for one in values]
        for var, found in data.items()
        for way, values in found.items()
    }
    assert seen == {
        ("pair", "inputs"): [[1, 2], [5, 7]],
        ("pair", "outputs"): [[6, 9], [-4, -5]],
        ("negated", "inputs"): [[6, 9]],
        ("negated", "outputs"): [[-6, -9]],
    }


def test_control_flow_is_refused() -> None:
    z = relay.var("z")
    with pytest.raises(IRError, match="calls and tuples alone to calibrate, got Let"):
        get_calibration_data(module(relay.Let(z, NEGATED(X), z)), {"x": 1, "y": 2})
