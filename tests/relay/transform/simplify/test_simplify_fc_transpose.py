from __future__ import annotations

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError
from parpass.relay.transform import SimplifyFCTranspose
from tests.support.opt_pass import count_ops

X, W = relay.var("x", shape=(1, 3)), relay.var("w", shape=(3, 4))


def dense(*, axes: tuple[int, ...] | None = (1, 0)) -> relay.Function:
    return relay.Function((X, W), relay.nn.dense(X, relay.transpose(W, axes)))


def test_weights_and_values_are_transposed_together() -> None:
    once = relay.var("once", shape=(4, 4))
    layer = dense(axes=None)
    body = relay.nn.dense(layer.body, relay.transpose(once, (-1, -2)))
    body = relay.nn.dense(body, relay.transpose(once))
    both = relay.Function((W, X, once), relay.Tuple((body, relay.sum(W))))
    numbers = np.random.default_rng(0)
    params = {"w": numbers.random((3, 4), "f4"), "once": numbers.random((4, 4), "f4")}
    given = {**params}
    after, new = relay.data_dep_optimization.simplify_fc_transpose.convert(both, params)
    assert params == given
    assert [param.name_hint for param in after.params] == ["w", "x", "w.T", "once.T"]
    assert sorted(new) == ["once.T", "w", "w.T"]
    assert count_ops(after)["transpose"] == 0
    x = numbers.random((1, 3), "f4")
    mod, turned = tvm.IRModule.from_expr(both), tvm.IRModule.from_expr(after)
    for a, b in zip(
        relay.create_executor(mod=mod).evaluate()(x=x, **params),
        relay.create_executor(mod=turned).evaluate()(x=x, **new),
        strict=True,
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_only_transposes_of_weights_are_found() -> None:
    stays = dense(axes=(0, 1))
    named = relay.Function((X, W), relay.nn.dense(X, relay.reshape(W, (4, 3))))
    assert relay.analysis.search_fc_transpose(stays) == []
    assert relay.analysis.search_fc_transpose(named) == []
    assert relay.analysis.search_fc_transpose(dense()) == ["w"]


def test_one_name_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"write \['w'\]"):
        SimplifyFCTranspose("w")
