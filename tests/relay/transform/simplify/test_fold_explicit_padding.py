from __future__ import annotations

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.relay import nn
from parpass.relay.transform import FoldExplicitPadding, InferType
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

X, W = relay.var("x", shape=(1, 2, 4, 4)), relay.var("w", shape=(3, 2, 3, 3))
AROUND = ((0, 0), (0, 0), (1, 1), (1, 1))


def module(body: relay.Expr) -> tvm.IRModule:
    params = relay.analysis.free_vars(body)
    return InferType()(tvm.IRModule.from_expr(relay.Function(params, body)))


def test_the_documented_programs() -> None:
    function = relay.Function((X, W), nn.conv2d(nn.pad(X, AROUND), W))
    before = tvm.IRModule.from_expr(function)
    after = FoldExplicitPadding()(InferType()(before))
    assert shows(FoldExplicitPadding, before, after)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_padding_is_added_in_any_layout(rank: int) -> None:
    letters = "DHW"[3 - rank :]
    build = getattr(nn, f"conv{rank}d")
    data = relay.var("data", shape=(1, *[5] * rank, 2))
    weight = relay.var("weight", shape=(*[3] * rank, 2, 4))
    widths = [(0, 0), *[(at, 1) for at in range(rank)], (0, 0)]
    layouts = {"data_layout": f"N{letters}C", "kernel_layout": f"{letters}IO"}
    before = module(build(nn.pad(data, widths), weight, padding=1, **layouts))
    after = assert_keeps_meaning(FoldExplicitPadding(), before)
    padding = (*[at + 1 for at in range(rank)], *[2] * rank)
    expected = module(build(data, weight, padding=padding, **layouts))
    tvm.ir.assert_structural_equal(after, expected)


@pytest.mark.parametrize(
    "pad",
    [
        nn.pad(X, AROUND, 1.0),
        nn.pad(X, AROUND, relay.var("value", shape=())),
        nn.pad(X, AROUND, pad_mode="edge"),
        nn.pad(X, ((0, 0), (0, 0), (-1, 1), (1, 1))),
        nn.pad(
            relay.strided_slice(X, (0, 0), (1, 1)), ((0, 0), (0, 1), (1, 1), (1, 1))
        ),
    ],
)
def test_what_is_not_zeros_around_the_image_stays(pad: relay.Expr) -> None:
    before = module(nn.conv2d(pad, W))
    assert FoldExplicitPadding()(before)["main"] is before["main"]


def test_a_pad_that_others_use_stays_for_them() -> None:
    padded = nn.pad(X, AROUND, relay.const(np.float32(0)))
    after = assert_keeps_meaning(
        FoldExplicitPadding(), module(relay.Tuple((nn.conv2d(padded, W), padded)))
    )
    assert relay.testing.count_ops(after["main"])["nn.pad"] == 1
