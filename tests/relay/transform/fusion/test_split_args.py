from __future__ import annotations

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError
from parpass.relay.transform import FuseOps, InferType, SplitArgs
from tests.support.meaning import assert_keeps_meaning


def module(lengths: list[int], axis: int = 0) -> tvm.IRModule:
    inputs = [
        relay.var(name, shape=(length,), dtype="int8")
        for name, length in zip("abcdefghijklm", lengths, strict=False)
    ]
    joined = relay.concatenate(inputs, axis)
    return InferType()(tvm.IRModule.from_expr(relay.Function(inputs, joined)))


def test_no_fused_function_takes_more_than_so_many() -> None:
    after = assert_keeps_meaning(SplitArgs(5), module([1] * 13, axis=-1))
    fused = FuseOps(2)(after)["main"]
    sizes: list[int] = []

    def look(node: relay.Expr) -> None:
        if isinstance(node, relay.Function) and node.has_nonzero_attr("Primitive"):
            sizes.append(len(node.params))

    relay.analysis.post_order_visit(fused, look)
    assert max(sizes) == 4
    assert len(sizes) == 5


def test_a_limit_that_leaves_nothing_to_join_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at least 3 for max_function_args"):
        SplitArgs(2)
