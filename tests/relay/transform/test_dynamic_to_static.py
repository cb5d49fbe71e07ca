from __future__ import annotations

from typing import Any

import numpy as np

import parpass as tvm
from parpass import relay
from parpass.diagnostic import Diagnostic, override_renderer
from parpass.relay.transform import DynamicToStatic, InferType

HEAD = "def @main(%x: Tensor[(2, 6), float32], %y: Tensor[(3, 4), float32])"


def parsed(body: str) -> tvm.IRModule:
    return InferType()(relay.parse(f'#[version = "0.0.5"]\n{HEAD} {{ {body} }}'))


def becomes(before: str, after: str) -> None:
    found = InferType()(DynamicToStatic()(parsed(before)))
    wanted = parsed(after)
    tvm.ir.assert_structural_equal(found["main"].body, wanted["main"].body, True)


def test_shapes_of_what_has_become_static_are_known() -> None:
    becomes(
        """%0 = dyn.reshape(%x, shape_of(%y, dtype="int64"));
        %1 = dyn.tile(%0, shape_of(%0, dtype="int64"));
        dyn.reshape(%1, shape_of(%1, dtype="int64"))""",
        """%0 = reshape(%x, newshape=[3, 4]);
        %1 = tile(%0, reps=[3, 4]);
        reshape(%1, newshape=[9, 16])""",
    )


def test_shapes_are_known_through_variables() -> None:
    becomes(
        """let %z = dyn.reshape(%x, shape_of(%y, dtype="int64"));
        dyn.tile(%z, shape_of(%z, dtype="int64"))""",
        """let %z = reshape(%x, newshape=[3, 4]);
        tile(%z, reps=[3, 4])""",
    )


def test_what_the_static_operator_refuses_stays_with_a_note() -> None:
    wide = relay.var("x", shape=(2, 6))
    widths = relay.const(np.array([[0, 0], [-1, 0]]))
    call = relay.nn.pad(wide, widths, pad_mode="reflect")
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([wide], call)))
    said: list[Diagnostic] = []
    override_renderer(lambda context: said.extend(context.diagnostics))
    try:
        assert tvm.ir.structural_equal(DynamicToStatic()(mod), mod)
    finally:
        override_renderer(None)
    assert "from 0 on" in str(said)


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
