"""Row `kernels`: machine code of convolutions, one thread, against numpy and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from bench.measure import Figure, Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from parpass import IRModule, relay, te, tir
from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.op.nn.conv import Conv2DAttrs
from parpass.relay.type_inference.infer import infer_type
from parpass.runtime.ndarray import array
from parpass.target import Target, lowering
from parpass.target.build_library import linked

_OURS, _NUMPY, _LOOPS = "parpass", "numpy", "plain loops"
_LANES = 16


class _Conv(NamedTuple):
    """A convolution of ResNet-50, without its padding."""

    inputs: int
    image: int
    outputs: int
    size: int
    stride: int

    def __str__(self) -> str:
        data = f"{self.inputs}x{self.image}x{self.image}"
        step = f", stride {self.stride}" if self.stride > 1 else ""
        return f"{self.size}x{self.size} convolution of {data} to {self.outputs}{step}"

    @property
    def counts(self) -> int:
        """The length of a side of the result."""
        return (self.image - self.size) // self.stride + 1

    @property
    def operations(self) -> int:
        """How many products and sums there are."""
        return 2 * self.outputs * self.inputs * (self.size * self.counts) ** 2

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of data, weight and result."""
        return (
            (1, self.inputs, self.image, self.image),
            (self.outputs, self.inputs, self.size, self.size),
            (1, self.outputs, self.counts, self.counts),
        )


_CONVS = (
    _Conv(64, 58, 64, 3, 1),
    _Conv(256, 56, 64, 1, 1),
    _Conv(256, 16, 256, 3, 1),
    _Conv(1024, 14, 256, 1, 1),
    _Conv(3, 229, 64, 7, 2),
)


def _kernels(setting: Setting) -> Iterator[Line]:
    target = Target("llvm")
    with ThreadpoolController().limit(limits=1):
        for conv in _CONVS[: setting.scaled(len(_CONVS))]:
            yield from _of(conv, target, setting)


def _of(conv: _Conv, target: Target, setting: Setting) -> Iterator[Line]:
    # What is loaded on the way to the first kernel is no part of compiling one.
    _compiled(_blocked(conv, target), target)
    began = perf_counter()
    ours = _compiled(_blocked(conv, target), target)
    took = perf_counter() - began
    attrs = Conv2DAttrs(strides=(conv.stride, conv.stride))
    given = [np.random.default_rng(at).random(s) for at, s in enumerate(conv.shapes)]
    data, weight, _ = (one.astype("float32") for one in given)
    by_numpy = Op.get("nn.conv2d").compute
    sides = {
        _OURS: _timed(ours, *_in_blocks(conv)),
        _NUMPY: clocked(lambda: by_numpy(attrs, data, weight)),
        _LOOPS: _timed(_compiled(_plain(conv), target), *conv.shapes),
    }
    times = interleaved(sides, setting.repeat, once=[_LOOPS], collect=False)
    fastest = conv.operations / min(times[_OURS]) / 1e9
    note = f"{fastest:.0f} GFLOP/s"
    against = f"{_OURS} : {_NUMPY}, one thread"
    figure = ratio(times, _OURS, _NUMPY)
    yield Line(str(conv), against, figure, Goal(1), note, times)
    against = f"{_LOOPS} : {_OURS}"
    yield Line(str(conv), against, ratio(times, _LOOPS, _OURS), Goal(at_least=10))
    taken = Figure(took).times(1e3, "ms")
    yield Line(str(conv), "compiling it, here", taken, Goal(150))


def _in_blocks(conv: _Conv) -> list[tuple[int, ...]]:
    """Return the shapes of blocked data, weight and result."""
    inner = _LANES if conv.inputs % _LANES == 0 else 1
    blocks, outputs = conv.inputs // inner, conv.outputs // _LANES
    data, weight = [1, blocks, *[conv.image] * 2], [outputs, blocks, *[conv.size] * 2]
    if inner > 1:
        data, weight = [*data, inner], [*weight, inner]
    result = [1, outputs, *[conv.counts] * 2]
    return [(*data,), (*weight, _LANES), (*result, _LANES)]


def _blocked(conv: _Conv, target: Target) -> tir.PrimFunc:
    shapes = _in_blocks(conv)
    is_blocked = len(shapes[0]) == 5
    data, weight = (
        relay.var(name, shape=shape)
        for name, shape in zip("xw", shapes[:2], strict=True)
    )
    call = relay.nn.contrib_conv2d_nchwc(
        *(data, weight),
        strides=conv.stride,
        data_layout=f"NCHW{_LANES}c" if is_blocked else "NCHW",
        kernel_layout=f"OIHW{_LANES}i{_LANES}o" if is_blocked else f"OIHW{_LANES}o",
        out_layout=f"NCHW{_LANES}c",
    )
    function = relay.Function([data, weight], call, attrs={"Primitive": 1})
    return kernel(infer_type(function), "main", target)


def _plain(conv: _Conv) -> tir.PrimFunc:
    data, weight = (te.placeholder(shape) for shape in conv.shapes[:2])
    channel, y, x = (
        te.reduce_axis((0, length), name)
        for length, name in ((conv.inputs, "c"), (conv.size, "y"), (conv.size, "x"))
    )

    def element(image: Any, output: Any, row: Any, column: Any) -> Any:
        top, left = row * conv.stride + y.var, column * conv.stride + x.var
        seen = data[image, channel.var, top, left]
        product = seen * weight[output, channel.var, y.var, x.var]
        return te.sum(product, axis=[channel, y, x])

    result = te.compute(conv.shapes[2], element)
    return te.create_prim_func([data, weight, result])


def _compiled(func: tir.PrimFunc, target: Target) -> Callable[..., Any]:
    return linked(lowering(target)(IRModule({"main": func})))["main"]


def _timed(function: Callable[..., Any], *shapes: Sequence[int]) -> Callable[[], float]:
    arrays = [array(np.ones(shape, "float32")) for shape in shapes]
    return clocked(lambda: function(*arrays))


ROWS = (Row("kernels", _kernels),)
