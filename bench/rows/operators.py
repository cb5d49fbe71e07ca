"""Row `operators`: networks of one operator, in forms that are not 2-d convolutions."""

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
    """

    name: str
    data: tuple[int, ...]
    weights: Sequence[tuple[int, ...]]
    attributes: dict[str, Any]
    goal: float

    def __str__(self) -> str:
        data = "x".join(map(str, self.data))
        given = [f"{name} {value}" for name, value in self.attributes.items()]
        weight = "x".join(map(str, self.weights[0]))
        return ", ".join([f"{self.name} of {data} by {weight}", *given])


def _conv(
    data: Sequence[int], outputs: int, *kernel: int, goal: float = 1.5, **how: Any
) -> _Operator:
    weight = (outputs, data[0] // how.get("group", 1), *kernel)
    return _Operator("Conv", (1, *data), [weight], how, goal)


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
    _recurrent("GRU", 3, 1, 256, 128, 2),
)


def _operators(setting: Setting) -> Iterator[Line]:
    for operator in _OPERATORS[: setting.scaled(len(_OPERATORS))]:
        model, given = _model(operator)
        ours = built(model, given)
        yield compared(str(operator), model, given, ours, setting, operator.goal)
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
    from onnx import TensorProto, helper, numpy_helper, shape_inference

    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(
            (random.standard_normal(shape) / 16).astype("float32"), f"w{at}"
        )
        for at, shape in enumerate(operator.weights)
    ]
    names = ["x", *(one.name for one in weights)]
    node = helper.make_node(operator.name, names, ["y"], **operator.attributes)
    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "operator",
        [helper.make_tensor_value_info("x", kind, operator.data)],
        [helper.make_tensor_value_info("y", kind, None)],
        weights,
    )
    version = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[version], ir_version=8)
    data = random.standard_normal(operator.data).astype("float32")
    return shape_inference.infer_shapes(model), {"x": data}


ROWS = (Row("operators", _operators),)
