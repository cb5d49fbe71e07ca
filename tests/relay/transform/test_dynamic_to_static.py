from __future__ import annotations

from typing import Any

import numpy as np

import parpass as tvm
from parpass import relay
from parpass.relay.transform import DynamicToStatic


def test_builders_give_the_dynamic_form_of_what_is_an_expression() -> None:
    x, y = relay.var("x", shape=(2, 6)), relay.var("y", shape=(3, 4))
    shape, k = relay.shape_of(y), relay.var("k", shape=(), dtype="int64")
    both = relay.topk(x, k)
    assert isinstance(both, relay.TupleWrapper)
    built: dict[str, Any] = {
        "dyn.reshape": relay.reshape(x, shape),
        "dyn.squeeze": relay.squeeze(x, shape),
        "dyn.broadcast_to": relay.broadcast_to(x, shape),
        "dyn.tile": relay.tile(x, reps=shape),
        "dyn.full": relay.full(1.0, shape, "float32"),
        "dyn.topk": both.astuple(),
        "dyn.one_hot": relay.one_hot(k, 1.0, 0.0, k, -1, "float32"),
        "dyn.sum": relay.sum(x, k, keepdims=True),
        "dyn.strided_slice": relay.strided_slice(x, [0], shape),
        "dyn.nn.pad": relay.nn.pad(x, relay.reshape(shape, (1, 2)), 2.0),
    }
    assert {name: call.op.name for name, call in built.items()} == {
        name: name for name in built
    }
    assert len(both) == 2


def test_slices_and_tensors_of_one_value_take_shapes_that_are_computed() -> None:
    y = relay.var("y", shape=(3, 4), dtype="int64")
    shape = relay.shape_of(y)
    shape = relay.strided_slice(shape, [0], relay.shape_of(shape))
    for build in (relay.zeros, relay.ones):
        mod = tvm.IRModule.from_expr(relay.Function([y], build(shape, "int64")))
        found = DynamicToStatic()(mod)["main"]
        assert found.checked_type.ret_type == relay.TensorType((3, 4), "int64")


def test_a_slice_without_a_begin_or_an_end_goes_as_far_as_can_be() -> None:
    data = np.arange(24).reshape(2, 3, 4)
    x = relay.const(data)
    for begin, end in (((0, 1), (2,)), ((1,), (2, 2, 3)), ((1, 1, 2), ())):
        rest = len(data.shape)
        wanted = data[
            tuple(
                map(
                    slice,
                    [*begin, *[None] * (rest - len(begin))],
                    [*end, *[None] * (rest - len(end))],
                )
            )
        ]
        found = relay.create_executor().evaluate(relay.strided_slice(x, begin, end))
        assert np.array_equal(found.numpy(), wanted)
