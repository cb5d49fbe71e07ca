"""Row `operators`: networks of one operator, other than 2-d convolutions of floats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.measure import Setting, clocked, interleaved, ratio
from bench.rows.inference import built, compared
from bench.table import Goal, Line, Row


class _Operator(NamedTuple):
    """An operator of ONNX, and its goal.

    Attributes:
        name: The operator.
        data: The shape of its input.
        weights: Those of its weights.
        attributes: Its attributes.
        goal: How many times the time of the other it may take.
        dtype: That of all tensors.
        constants: Further inputs; None for one that is not given.
    """

    name: str
    data: tuple[int, ...]
    weights: Sequence[tuple[int, ...]]
    attributes: dict[str, Any]
    goal: float
    dtype: str = "float32"
    constants: Sequence[Any] = ()

    def __str__(self) -> str:
        dtype = "" if self.dtype == "float32" else f"{self.dtype} "
        what = f"{self.name} of {dtype}{'x'.join(map(str, self.data))}"
        if self.weights:
            what += f" by {'x'.join(map(str, self.weights[0]))}"
        for one in self.constants:
            if one is not None:
                what += f" by {'x'.join(f'{length:g}' for length in np.ravel(one))}"
        given = [f"{name} {value}" for name, value in self.attributes.items()]
        return ", ".join([what, *given])


def _resize(
    data: tuple[int, ...], scale: float, mode: str, rule: str, **how: Any
) -> _Operator:
    scales = np.array([1, 1, scale, scale], "float32")
    how = {"mode": mode, "coordinate_transformation_mode": rule, **how}
    return _Operator("Resize", data, [], how, 2, constants=[None, scales])


def _conv(
    data: Sequence[int], outputs: int, *kernel: int, goal: float = 1.5, **how: Any
) -> _Operator:
    weight = (outputs, data[0] // how.get("group", 1), *kernel)
    return _Operator("Conv", (1, *data), [weight], how, goal)


_WEIGHT = (64, 64, 3, 3)
_IMAGES = (1, 64, 28, 28)
_PADDED = {"pads": [1] * 4}
_EVERY_OTHER = {"kernel_shape": [3, 3], "strides": [2, 2]}


_SIGNAL = _conv((128, 400), 128, 5)
_IMAGE = _conv((128, 1, 400), 128, 1, 5)  # the same


def _transposed(
    data: Sequence[int], outputs: int, *kernel: int, **how: Any
) -> _Operator:
    weight = (data[0], outputs // how.get("group", 1), *kernel)
    return _Operator("ConvTranspose", (1, *data), [weight], how, 1.5)


def _recurrent(
    name: str, gates: int, steps: int, inputs: int, hidden: int, goal: float
) -> _Operator:
    wide = gates * hidden
    weights = [(1, wide, inputs), (1, wide, hidden), (1, 2 * wide)]
    how = {"hidden_size": hidden}
    return _Operator(name, (steps, 1, inputs), weights, how, goal)


_OPERATORS = (
    _SIGNAL,
    _conv((128, 400), 128, 5, group=4, pads=[2, 2]),
    _conv((128, 400), 128, 5, group=128, pads=[2, 2]),
    _conv((80, 1500), 384, 3, strides=[2], pads=[1, 1]),
    _conv((64, 1000), 64, 3, dilations=[4], pads=[4, 4]),
    _conv((1, 48000), 402, 400, strides=[160]),
    _conv((256, 512, 1), 256, 5, 1),
    _conv((20, 400), 30, 5, pads=[2, 2]),
    _conv((16, 8, 28, 28), 32, 3, 3, 3, pads=[1] * 6),
    _transposed((24, 80, 80), 24, 2, 2, strides=[2, 2]),
    _transposed((24, 80, 80), 1, 2, 2, strides=[2, 2]),
    _transposed((32, 40, 40), 32, 3, 3, strides=[2, 2], pads=[1] * 4),
    _transposed((64, 32, 32), 64, 4, 4, strides=[2, 2], pads=[1] * 4),
    _transposed((32, 40, 40), 32, 4, 4, strides=[2, 2], pads=[1] * 4, group=2),
    _transposed((128, 100), 64, 16, strides=[8], pads=[4, 4]),
    _transposed((32, 40, 40), 32, 3, 3),
    _transposed((16, 8, 16, 16), 16, 2, 2, 2, strides=[2, 2, 2]),
    _recurrent("LSTM", 4, 1, 512, 128, 2),
    _recurrent("LSTM", 4, 8, 512, 128, 2),
    _recurrent("LSTM", 4, 20, 128, 128, 2),
    _recurrent("LSTM", 4, 20, 64, 32, 2),
    _recurrent("GRU", 3, 1, 256, 128, 2),
    _recurrent("GRU", 3, 20, 128, 128, 2),
    _Operator("Conv", _IMAGES, [_WEIGHT], _PADDED, 1.5, "float16"),
    _Operator("ConvInteger", _IMAGES, [_WEIGHT], _PADDED, 2, "uint8"),
    _Operator("MatMul", (512, 64), [(64, 64)], {}, 2),
    _Operator("MatMulInteger", (64, 256), [(256, 256)], {}, 2, "uint8"),
    _Operator("ReduceMean", (512, 768), [], {"axes": [-1]}, 1),
    _Operator("ReduceMax", (512, 768), [], {"axes": [0]}, 1),
    _Operator("Softmax", (12, 128, 128), [], {}, 2),
    _Operator("Tanh", (256, 256), [], {}, 2),
    _Operator("LayerNormalization", (128, 768), [(768,), (768,)], {}, 1),
    _Operator("GlobalMaxPool", (1, 512, 14, 14), [], {}, 1),
    _Operator("MaxPool", (1, 64, 56, 56), [], {**_PADDED, **_EVERY_OTHER}, 2),
    _Operator("AveragePool", (1, 64, 56, 56), [], {**_PADDED, **_EVERY_OTHER}, 2),
    _Operator("Transpose", (512, 768), [], {"perm": [1, 0]}, 2),
    _Operator("Transpose", _IMAGES, [], {"perm": [0, 2, 3, 1]}, 2),
    _Operator("Tile", (64, 1, 128), [], {}, 2, constants=[np.array([1, 16, 2])]),
    _Operator("Trilu", (512, 512), [], {"upper": 0}, 2),
    _Operator("Pow", (256, 256), [], {}, 2, constants=[np.float32(2)]),
    _Operator("Sin", (256, 256), [], {}, 2),
    _resize(_IMAGES, 2, "nearest", "asymmetric", nearest_mode="floor"),
    _resize(_IMAGES, 2, "linear", "half_pixel"),
)

_OF_HALVES = 1e-3  # how far half floats may be apart: two of their last digits


def _operators(setting: Setting) -> Iterator[Line]:
    for operator in _OPERATORS[: setting.scaled(len(_OPERATORS))]:
        model, given = _model(operator)
        ours = built(model, given)
        how = [_OF_HALVES] if operator.dtype == "float16" else []
        yield compared(str(operator), model, given, ours, setting, operator.goal, *how)
    sides = {
        name: clocked(built(*_model(operator)).module.run)
        for name, operator in (("1-d", _SIGNAL), ("2-d of height 1", _IMAGE))
    }
    times = interleaved(sides, 2 * setting.repeat + 1, collect=False)
    figure = ratio(times, *times)
    yield Line(str(_SIGNAL), " : ".join(times), figure, Goal(1.1), "", times)


def _model(operator: _Operator) -> tuple[Any, dict[str, Any]]:
    """Return a network of an operator alone, and what it is run with."""
    # Here, because loading onnx takes long.
    from onnx import helper, numpy_helper, shape_inference

    random, dtype = np.random.default_rng(0), np.dtype(operator.dtype)

    def numbers(shape: tuple[int, ...], by: int) -> Any:
        if dtype.kind == "u":
            return random.integers(0, 256, shape, dtype)
        return (random.standard_normal(shape) / by).astype(dtype)

    weights = [
        numpy_helper.from_array(numbers(shape, 16), f"w{at}")
        for at, shape in enumerate(operator.weights)
    ]
    names = ["x", *(one.name for one in weights)]
    for at, one in enumerate(operator.constants):
        names.append("" if one is None else f"c{at}")
        if one is not None:
            weights.append(numpy_helper.from_array(np.asarray(one), names[-1]))
    node = helper.make_node(operator.name, names, ["y"], **operator.attributes)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        [node],
        "operator",
        [helper.make_tensor_value_info("x", kind, operator.data)],
        [helper.make_empty_tensor_value_info("y")],
        weights,
    )
    version = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[version], ir_version=8)
    return shape_inference.infer_shapes(model), {"x": numbers(operator.data, 1)}


ROWS = (Row("operators", _operators),)
