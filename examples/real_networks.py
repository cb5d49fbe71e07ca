"""The nine networks that the onnx package ships, with weights that tell them apart.

In the files each weight is a `ConstantOfShape` node, all elements the same, against
which any wrong answer looks right. `load` puts random weights in their place, from a
seeded generator and scaled so that values neither vanish nor explode on their way
through the layers (He and others, 2015). The three giants, hundreds of megabytes each,
keep their weights of one value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import dropwhile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

Array = npt.NDArray[np.float32]
Shape = tuple[int, ...]

GIANTS = frozenset({"bvlc_alexnet", "vgg19", "zfnet512"})

_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
_PREFIX = "light_"


def network_paths() -> dict[str, Path]:
    """Return the files of the networks by name, in the order of their names."""
    found = sorted(_FOLDER.glob(f"{_PREFIX}*.onnx"))
    return {path.stem.removeprefix(_PREFIX): path for path in found}


def load(name: str, seed: int = 0) -> onnx.ModelProto:
    """Return a network, its weights filled unless it is a giant."""
    model = onnx.ModelProto.FromString(network_paths()[name].read_bytes())
    _spell_out(model)
    if name not in GIANTS:
        fill_weights(model, np.random.default_rng(seed))
    return model


def _spell_out(model: onnx.ModelProto) -> None:
    """Set attributes to what they mean in these models, whoever reads them.

    ONNX's reference evaluator takes the newest default axis of Softmax, -1, for models
    of any opset, where it was 1 until opset 12; and its BatchNormalization of opset 9
    mixes the statistics of the data in, as in training, unless the momentum is 1.
    """
    meant = {"BatchNormalization": ("momentum", 1.0), "Softmax": ("axis", 1)}
    for node in model.graph.node:
        if node.op_type in meant:
            name, value = meant[node.op_type]
            if name not in {attribute.name for attribute in node.attribute}:
                node.attribute.append(onnx.helper.make_attribute(name, value))


def fill_weights(model: onnx.ModelProto, generator: np.random.Generator) -> None:
    """Replace the `ConstantOfShape` nodes of a model by random initializers."""
    graph = model.graph
    shapes = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    roles = _roles(graph)
    weights = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    for node in weights:
        shape: Shape = tuple(int(size) for size in shapes[node.input[0]])
        values = _DRAW[roles[node.output[0]]](generator, shape).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    rest = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    del graph.node[:]
    graph.node.extend(rest)


def example_input(model: onnx.ModelProto, seed: int = 1) -> dict[str, Array]:
    """Return a random image for the one true input of a model, by its name."""
    given = {one.name for one in model.graph.initializer}
    (wanted,) = (one for one in model.graph.input if one.name not in given)
    shape = [dim.dim_value for dim in wanted.type.tensor_type.shape.dim]
    generator = np.random.default_rng(seed)
    return {wanted.name: generator.standard_normal(shape, np.float32)}


def reference_output(name: str) -> Array:
    """Return what ONNX's reference evaluator gives for a network and its example input.

    It takes seconds; a process of its own may call it.
    """
    model = load(name)
    evaluator: Any = ReferenceEvaluator(model, new_ops=[LRN])
    (output,) = evaluator.run(None, example_input(model))
    return output


class LRN(OpRun):
    """Normalisation by the squares of neighbouring channels, as ONNX defines it.

    That of the evaluator in onnx 1.23 goes over as many channels as there are images.
    """

    def _run(
        self, x: Array, alpha: float, beta: float, bias: float, size: int
    ) -> tuple[Array]:
        before, behind = (size - 1) // 2, size // 2
        padded = np.pad(x**2, ((0, 0), (before, behind), (0, 0), (0, 0)))
        squares = sum(padded[:, at : at + x.shape[1]] for at in range(size))
        return (x / (bias + alpha / size * squares) ** beta,)


def _roles(graph: onnx.GraphProto) -> dict[str, str]:
    """Return what each value of a graph is to the node that reads it first."""
    roles: dict[str, str] = {}
    for node in reversed(graph.node):
        for position, name in enumerate(node.input):
            role = _ROLE_OF_INPUT.get((node.op_type, position), "")
            if node.op_type in ("Reshape", "Unsqueeze"):
                role = roles.get(node.output[0], "")
            roles[name] = role
    return roles


_ROLE_OF_INPUT = {
    ("Add", 1): "shift",
    ("BatchNormalization", 1): "scale",
    ("BatchNormalization", 2): "shift",
    ("BatchNormalization", 3): "shift",
    ("BatchNormalization", 4): "variance",
    ("Conv", 1): "kernel",
    ("Conv", 2): "shift",
    ("Gemm", 1): "kernel",
    ("Gemm", 2): "shift",
    ("Mul", 1): "scale",
}


def _kernel(generator: np.random.Generator, shape: Shape) -> npt.NDArray[np.float64]:
    _, *inputs = dropwhile(lambda size: size == 1, shape)  # Caffe's: 1, 1, 1000, 1024
    fan_in = math.prod(inputs)
    return generator.standard_normal(shape) * math.sqrt(2 / fan_in)


# The scale is below 1, since each addition of a residual network adds to the variance;
# an output that is all 0 but for one 1 would hide most errors.
_Draw = Callable[[np.random.Generator, Shape], npt.NDArray[np.float64]]
_DRAW: dict[str, _Draw] = {
    "kernel": _kernel,
    "scale": lambda generator, shape: generator.uniform(0.3, 0.7, shape),
    "shift": lambda generator, shape: generator.standard_normal(shape) * 0.1,
    "variance": lambda generator, shape: generator.uniform(0.5, 1.5, shape),
}
