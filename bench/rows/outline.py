"""Row `outline`: one network, which is one function, cut into segments by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from parpass import IRModule, PassContext, relay
from parpass.ir.node import post_order
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import default_pipeline
from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassInfo, Sequential

ModT = TypeVar("ModT")

_BLOCKS = 560
_CONV = relay.op.get("nn.conv2d")
_CACHE = 1 << 15  # bytes
_TILES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)


class ChooseTiles(FunctionPass):
    """A pass as tuners have them: tries many tilings of each convolution.

    It counts the kilobytes that the best ones move, and changes nothing.

    Args:
        tiles: The lengths that are tried along each of the four axes.
    """

    pass_info = PassInfo(0, "ChooseTiles", required=("InferType",))

    def __init__(self, tiles: Sequence[int]) -> None:
        self.tiles = tiles

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Look for the best tiles of each convolution."""
        for node in post_order(func):
            if isinstance(node, Call) and node.op is _CONV:
                ctx.count("kilobytes", self._best(node) // 1024)
        return func

    def _best(self, conv: Call) -> int:
        weight, result = conv.args[1].checked_type, conv.checked_type
        assert isinstance(weight, TensorType)
        assert isinstance(result, TensorType)
        outputs, inputs, *kernel = weight.concrete_shape
        *_, height, width = result.concrete_shape
        window, best = 4 * kernel[0] * kernel[1], 1 << 62
        for o, i, h, w in itertools.product(self.tiles, repeat=4):
            weights, image, sums = o * i * window, 4 * i * h * w, 4 * o * h * w
            if weights + image + sums < _CACHE:
                steps = -(-outputs // o) * -(-inputs // i)
                steps *= -(-height // h) * -(-width // w)
                best = min(best, steps * (weights + image + sums))
        return best


def users_passes(tiles: Sequence[int], *, is_cut: bool) -> Pass:
    """Return passes that take a second or two on DenseNet, on segments of it or not."""
    transform = relay.transform
    passes: list[Pass] = [transform.SimplifyInference(), transform.FoldConstant()]
    passes.append(ChooseTiles(tiles))
    if is_cut:
        passes = [transform.OutlineSegments(), *passes, transform.InlineSegments()]
    return Sequential(passes)


def densenet() -> IRModule:
    """Return DenseNet-121, typed: 2,182 nodes."""
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import load

    mod, _ = relay.frontend.from_onnx(load("densenet121"), freeze_params=True)
    return relay.transform.InferType()(mod)


def residual(blocks: int) -> IRModule:
    """Return a residual network of so many blocks, typed."""
    values = np.random.default_rng(0)

    def weight(*shape: int) -> Expr:
        return relay.const(values.uniform(0.5, 1.5, shape).astype("float32"))

    image = relay.var("x", shape=(1, 8, 8, 8))
    result: Expr = image
    for _ in range(blocks):
        inner = result
        for _ in range(2):
            inner = relay.nn.conv2d(inner, weight(8, 8, 3, 3), padding=1)
            scale, shift, mean, variance = (weight(8) for _ in range(4))
            norm = relay.nn.batch_norm(inner, scale, shift, mean, variance)
            inner = relay.nn.relu(norm[0])
        result = relay.add(result, inner)
    mod = IRModule({"main": Function((image,), result)})
    return relay.transform.InferType()(mod)


@dataclass(frozen=True)
class _Work:
    """A network, and the same passes on all of it and on its segments."""

    what: str
    mod: IRModule
    whole: Pass
    cut: Pass

    def lines(self, runner: Runner, goal: Goal | None, repeat: int) -> Iterator[Line]:
        """Yield how much faster workers are, and how much slower it is without."""
        for _ in range(2):
            runner.run_sync(self.mod, self.cut)
        sides = {
            "whole": clocked(lambda: self.whole(self.mod)),
            "cut": clocked(lambda: self.cut(self.mod)),
            "parallel": clocked(lambda: runner.run_sync(self.mod, self.cut)),
        }
        times = interleaved(sides, repeat)
        compares = "serial run, whole : parallel run, cut"
        found = ratio(times, "whole", "parallel")
        yield Line(self.what, compares, found, goal, times=times)
        compares = "serial run, cut : serial run, whole"
        yield Line(self.what, compares, ratio(times, "cut", "whole"))


def _outline(setting: Setting) -> Iterator[Line]:
    network, large = densenet(), residual(setting.scaled(_BLOCKS))
    nodes = relay.analysis.node_count(large)
    tiles = _TILES[: setting.scaled(len(_TILES))]
    heavy = users_passes(tiles, is_cut=False), users_passes(tiles, is_cut=True)
    level = (_NeverCutting([default_pipeline(3)]), default_pipeline(3))
    with parpass.open_runner(workers=setting.workers) as runner:
        work = _Work(
            "three passes, one of them heavy, on DenseNet-121", network, *heavy
        )
        yield from work.lines(runner, Goal(at_least=1.5), setting.repeat)
        work = _Work("-O3 on DenseNet-121, which is too small to cut", network, *level)
        yield from work.lines(runner, Goal(at_least=0.95), setting.repeat)
        work = _Work(f"-O3 on a residual network of {nodes:,} nodes", large, *level)
        yield from work.lines(runner, None, setting.fewer)


class _NeverCutting(Sequential):
    def __call__(self, mod: ModT, /) -> ModT:
        with PassContext(disabled_pass=["OutlineSegments"]):
            return super().__call__(mod)


ROWS = (Row("outline", _outline),)
