from __future__ import annotations

from typing import Any, cast

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError, DiagnosticError, IRTypeError
from parpass.relay.transform import ChangeBatch, InferType
from parpass.runner import Runner
from tests.support.meaning import assert_parallel_is_serial
from tests.support.relay_networks import mobilenet

DATA = relay.var("data", shape=(1, 3))


def module(body: relay.Expr) -> tvm.IRModule:
    return InferType()(tvm.IRModule.from_expr(relay.Function((DATA,), body)))


def test_workers_know_parameters_by_their_names(runner: Runner) -> None:
    one, two = module(relay.nn.relu(DATA))["main"], module(relay.exp(DATA))["main"]
    mod = tvm.IRModule({"main": one, "other": two})
    assert_parallel_is_serial(runner, ChangeBatch({"data": 0}, 7), mod)


def test_a_network_is_typed_anew() -> None:
    mod, _ = mobilenet.get_workload(batch_size=1)
    after = ChangeBatch({mod["main"].params[0]: 0}, batch_size=123)(mod)
    assert after["main"].checked_type.ret_type.shape[0] == 123


def test_what_has_no_such_axis_is_refused() -> None:
    with pytest.raises(IRTypeError, match="with axis 2 for parameter 'data', got"):
        ChangeBatch({DATA: 2})(module(DATA))
    with pytest.raises(ArgumentError, match="expected parameters, or their names, got"):
        ChangeBatch(cast("Any", {0: 0}))
    with pytest.raises(DiagnosticError, match="reshape"):
        ChangeBatch({DATA: 0}, 4)(module(relay.reshape(DATA, (3, 1))))
