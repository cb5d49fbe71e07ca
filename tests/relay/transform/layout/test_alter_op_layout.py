"""What AlterOpLayout does of itself where there is a target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Tuple
from parpass.relay.transform import (
    AlterOpLayout,
    CanonicalizeOps,
    FoldConstant,
    InferType,
)
from parpass.runner import Runner
from parpass.target import Target
from parpass.transform import PassContext, Sequential
from tests.support.meaning import assert_keeps_meaning
from tests.support.pooled import POOLED

AVX512 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
AVX2 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")


def conv(data: Expr, shape: tuple[int, ...], **options: Any) -> Expr:
    """Return a convolution with a weight that is known."""
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    weight = relay.const(values.astype("float32"))
    return relay.nn.conv2d(data, weight, padding=shape[2] // 2, **options)


def module(*bodies: Expr) -> IRModule:
    body = Tuple(bodies) if bodies[1:] else next(iter(bodies))
    return InferType()(IRModule({"main": Function(tuple(free_vars(body)), body)}))


def altered(mod: IRModule, target: Target = AVX512) -> list[Call]:
    """Return the calls of the module that AlterOpLayout makes for a target."""
    with target, PassContext(opt_level=3):
        mod = Sequential([CanonicalizeOps(), AlterOpLayout(), FoldConstant()])(mod)
    nodes = post_order(InferType()(mod)["main"])
    return [node for node in nodes if isinstance(node, Call)]


def layouts(calls: list[Call]) -> list[tuple[str, str, str]]:
    found: list[Any] = [
        one.attrs for one in calls if "data_layout" in (one.attrs or ())
    ]
    return [(one.data_layout, one.kernel_layout, one.out_layout) for one in found]


def transforms(calls: list[Call]) -> int:
    return sum(one.op is relay.op.get("layout_transform") for one in calls)


def network() -> IRModule:
    """Return a picture's way through a first layer, a bottleneck and a head."""
    first = conv(relay.var("x", shape=(1, 3, 9, 9)), (16, 3, 3, 3), strides=2)
    first = relay.nn.relu(relay.nn.bias_add(first, relay.const(np.ones(16, "float32"))))
    each = conv(first, (16, 1, 3, 3), groups=16)
    more = relay.add(conv(each, (16, 16, 1, 1)), first)
    pooled = relay.nn.max_pool2d(relay.concatenate([more, first], 1), (2, 2))
    return module(relay.nn.global_avg_pool2d(conv(pooled, (8, 32, 1, 1))))


def test_what_is_half_in_blocks_goes_on_as_it_was_written():
    image = conv(relay.var("x", shape=(1, 16, 5, 5)), (16, 16, 1, 1))
    for _ in range(3):
        grouped = conv(image, (16, 4, 1, 1), groups=4)  # of channels that fit no block
        image = relay.nn.relu(relay.add(image, grouped))
    before = module(image)
    assert transforms(altered(before)) == 2  # before the first one, and behind it
    with AVX512:
        assert_keeps_meaning(AlterOpLayout(), before)


def test_a_network_stays_in_blocks_to_its_end():
    calls = altered(network())
    assert transforms(calls) == 1
    assert layouts(calls) == [
        ("NCHW", "OIHW16o", "NCHW16c"),
        ("NCHW16c", "OIHW1i16o", "NCHW16c"),
        ("NCHW16c", "OIHW16i16o", "NCHW16c"),
        ("NCHW16c", "OIHW16i8o", "NCHW8c"),
    ]
    shorter = altered(network(), AVX2)
    assert transforms(shorter) == 1
    assert {one for _, _, one in layouts(shorter)} == {"NCHW8c"}


@pytest.mark.slow
def test_it_computes_what_it_did():
    mod = network()
    with AVX512:
        assert_keeps_meaning(AlterOpLayout(), mod, rtol=1e-4, atol=1e-4)


def test_channels_that_no_block_divides_stay_as_they_are():
    x = relay.var("x", shape=(1, 12, 5, 5))
    mod = module(
        conv(x, (12, 12, 3, 3)),
        conv(x, (24, 6, 3, 3), groups=2),
        conv(x, (12, 1, 3, 3), groups=12),
        conv(x, (16, 12, 1, 1), out_layout="NHWC"),
    )
    with AVX512:
        assert AlterOpLayout()(mod)["main"] is mod["main"]


def test_without_a_target_nothing_changes_and_what_is_registered_comes_first():
    mod = network()
    assert AlterOpLayout()(mod)["main"] is mod["main"]
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
