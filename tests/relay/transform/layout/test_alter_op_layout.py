"""What AlterOpLayout does of itself where there is a target.

What programs become is in `tests/cases/relay/alter_op_layout.txt`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.op.op_registration import TempOpAttr
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Expr, Function
from parpass.relay.transform import AlterOpLayout, InferType
from parpass.runner import Runner
from parpass.target import Target
from parpass.transform import PassContext
from tests.support.relay.meaning import assert_keeps_meaning
from tests.support.runner.pooled import POOLED

AVX512 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
AVX2 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")


def conv(data: Expr, shape: tuple[int, ...], **options: Any) -> Expr:
    """Return a convolution with a weight that is known."""
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    weight = relay.const(values.astype("float32"))
    return relay.nn.conv2d(data, weight, padding=shape[2] // 2, **options)


def module(body: Expr) -> IRModule:
    return InferType()(IRModule({"main": Function(tuple(free_vars(body)), body)}))


def network() -> IRModule:
    """Return a picture's way through a first layer, a bottleneck and a head."""
    first = conv(relay.var("x", shape=(1, 3, 9, 9)), (16, 3, 3, 3), strides=2)
    first = relay.nn.relu(relay.nn.bias_add(first, relay.const(np.ones(16, "float32"))))
    each = conv(first, (16, 1, 3, 3), groups=16)
    more = relay.add(conv(each, (16, 16, 1, 1)), first)
    pooled = relay.nn.max_pool2d(relay.concatenate([more, first], 1), (2, 2))
    return module(relay.nn.global_avg_pool2d(conv(pooled, (8, 32, 1, 1))))


def half_in_blocks() -> IRModule:
    """Return convolutions of groups of channels that fit no block."""
    image = conv(relay.var("x", shape=(1, 16, 5, 5)), (16, 16, 1, 1))
    for _ in range(3):
        grouped = conv(image, (16, 4, 1, 1), groups=4)
        image = relay.nn.relu(relay.add(image, grouped))
    return module(image)


def test_what_is_half_in_blocks_keeps_its_meaning():
    with AVX512:
        assert_keeps_meaning(AlterOpLayout(), half_in_blocks())


@pytest.mark.slow
def test_a_network_keeps_its_meaning():
    with AVX512:
        assert_keeps_meaning(AlterOpLayout(), network(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32"])
def test_blocks_are_as_long_as_vectors_of_what_their_elements_are_computed_in(
    dtype: str,
):
    data = relay.var("x", shape=(1, 32, 5, 5), dtype=dtype)
    weight = relay.var("w", shape=(32, 32, 3, 3), dtype=dtype)
    mod = module(relay.nn.relu(relay.nn.conv2d(data, weight, padding=1)))
    with AVX512:
        assert "NCHW16c" in AlterOpLayout()(mod).astext()
        assert_keeps_meaning(AlterOpLayout(), mod)


def test_what_is_registered_comes_first():
    mod = network()
    with AVX512, TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda *_: None):  # pyright: ignore[reportUnknownLambdaType]
        assert AlterOpLayout()(mod)["main"] is mod["main"]


@pytest.mark.slow
def test_workers_know_the_rules_of_the_target(runner: Runner):
    one = network()["main"]
    mod = IRModule({"a": one, "b": one})
    with AVX2:
        serial = AlterOpLayout()(mod)
        context = PassContext(config=POOLED)
        parallel = runner.run_sync(mod, AlterOpLayout(), context=context)
    assert parallel.astext() == serial.astext()
    assert "NCHW8c" in parallel.astext()


def test_optimize_has_the_target_that_it_is_given():
    with PassContext(opt_level=3):
        mine, _ = relay.optimize(network(), target=AVX2)
        nobodys, _ = relay.optimize(network())
    assert "NCHW8c" in mine.astext()
    assert "NCHW8c" not in nobodys.astext()
