"""`GraphModule`: runs a compiled network, under TVM's names.

::

    lib = tvm.runtime.load_module("net.so")
    module = tvm.runtime.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", image)
    module.run()
    scores = module.get_output(0).numpy()
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from parpass.errors import ArgumentError
from parpass.errors.core import describe_kind
from parpass.runtime.devices import Device
from parpass.runtime.graph_json import read_graph
from parpass.runtime.graph_runner import FunctionLookup, GraphRunner
from parpass.runtime.ndarray import NDArray
from parpass.runtime.params import load_param_dict
from parpass.runtime.time_evaluator import BenchmarkResult, timed

__all__ = ["GraphModule", "create"]


def create(graph_json_str: str, libmod: FunctionLookup, device: Any) -> GraphModule:
    """Return an executor for a graph, without weights.

    Args:
        graph_json_str: The graph in TVM's JSON, from `get_graph_json` of a build.
        libmod: The module with its functions, from `get_lib`.
        device: The processor, `tvm.cpu()`, or a list that contains it.

    Raises:
        ArgumentError: The device is not the processor, or `libmod` has no functions.
        LibraryError: The graph does not belong to the module.
    """
    check_device(device)
    if not isinstance(cast("object", libmod), FunctionLookup):
        raise ArgumentError(f"expected a module to run, got {describe_kind(libmod)}")
    return GraphModule(GraphRunner(read_graph(graph_json_str), libmod, {}))


def check_device(device: Any) -> None:
    """Check that what a graph shall run on is the processor.

    Raises:
        ArgumentError: It is something else.
    """
    given = cast("list[Any]", device if isinstance(device, list | tuple) else [device])
    for one in given:
        if not isinstance(one, Device) or not one.exist:
            raise ArgumentError(f"expected device tvm.cpu(), got {one!r}")


class GraphModule:
    """A compiled network with memory for one run at a time.

    Args:
        module: The result of `lib["default"](tvm.cpu())`.

    Attributes:
        module: The argument.

    Raises:
        ArgumentError: The argument is something else, such as the library itself.
    """

    def __init__(self, module: GraphRunner) -> None:
        if not isinstance(cast("object", module), GraphRunner):
            raise ArgumentError(
                "expected what lib['default'](tvm.cpu()) gives, "
                f"got {describe_kind(module)}"
            )
        self.module = module

    def set_input(
        self, key: str | int | None = None, value: Any = None, **params: Any
    ) -> None:
        """Copy values to inputs.

        Args:
            key: The name or the index of an input.
            value: Its value: an array, an `NDArray`, or anything that numpy converts to
                an array.
            **params: Values of other inputs, by name.

        Raises:
            ArgumentError: The input does not exist, or the value does not fit it.
        """
        if key is not None:
            self.module.set_input(key, value)
        self._set(params)

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.module.set_input(name, value)

    def run(self, **input_dict: Any) -> None:
        """Run the network on the current inputs.

        Raises:
            KernelError: A kernel detected a fault, such as an integer division by 0.
        """
        self._set(input_dict)
        self.module.run()

    def get_num_outputs(self) -> int:
        """Return the number of results."""
        return len(self.module.graph.heads)

    def get_num_inputs(self) -> int:
        """Return the number of inputs, weights included."""
        return len(self.module.inputs)

    def get_input_index(self, name: str) -> int:
        """Return the index of an input by name; -1 if there is none."""
        names = list(self.module.inputs)
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return shapes and dtypes of the inputs that you must set, by name."""
        runs = self.module
        found = {name: runs.value(at) for name, at in runs.inputs.items()}
        wanted = {name: one for name, one in found.items() if one.flags.writeable}
        shapes = {name: one.shape for name, one in wanted.items()}
        return shapes, {name: one.dtype.name for name, one in wanted.items()}

    def get_input(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """Return the value of an input, by index or name.

        Args:
            index: The input.
            out: An array to copy the value to as well.
        """
        runs = self.module
        return _copied(runs.value(runs.input_node(index)), out)

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """Return a result of the last run; the next run does not change it.

        Args:
            index: The index of the result.
            out: An array to copy it to as well.

        Raises:
            ArgumentError: There are fewer results.
        """
        heads = self.module.graph.heads
        if not 0 <= index < len(heads):
            raise ArgumentError(f"expected a result below {len(heads)}, got {index}")
        return _copied(self.module.value(*heads[index]), out)

    def debug_get_output(self, node: str | int, out: NDArray | None = None) -> NDArray:
        """Run the network up to a node, and return the node's value.

        Args:
            node: Its name, or its index in the graph.
            out: An array to copy the value to as well.

        Raises:
            ArgumentError: There is no such node.
        """
        names = [one.name for one in self.module.graph.nodes]
        at = names.index(node) if node in names else node
        if isinstance(at, str) or not 0 <= at < len(names):
            raise ArgumentError(f"expected a node of the graph, got {node!r}")
        self.module.run(at)
        return _copied(self.module.value(at), out)

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set inputs to the values of a `.params` file's bytes.

        Raises:
            MalformedModelError: The bytes are not of that format.
            ArgumentError: A name or a value is not that of an input.
        """
        self._set(load_param_dict(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: bytes | bytearray) -> None:
        """Share the parameters of a module of the same library, without copying them.

        Args:
            other: The module.
            params_bytes: The bytes of a `.params` file, of which only the names are
                used.
        """
        theirs = other.module
        for name in load_param_dict(params_bytes):
            self.module.bind(name, theirs.value(theirs.input_node(name)))

    def benchmark(
        self,
        device: Any = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int = 0,
        end_to_end: bool = False,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Measure the time of a run.

        Args:
            device: The processor.
            func_name: The function: `run`.
            repeat: The number of repetitions.
            number: The number of runs in a repetition.
            min_repeat_ms: The minimum time of a repetition; more runs are made if
                necessary.
            end_to_end: Whether each run sets inputs and copies results.
            **kwargs: The inputs by name.
        """
        if device is not None:
            check_device(device)

        def whole() -> None:
            self._set(kwargs)
            self.module.run()
            for index in range(self.get_num_outputs()):
                self.get_output(index)

        self._set(kwargs)
        call = whole if end_to_end else cast("Callable[[], None]", self[func_name])
        return timed(call, number, repeat, min_repeat_ms)

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """Return a function by TVM's name, such as `run`."""
        found: Mapping[str, Callable[..., Any]] = {
            "debug_get_output": self.debug_get_output,
            "get_input": self.get_input,
            "get_num_inputs": self.get_num_inputs,
            "get_num_outputs": self.get_num_outputs,
            "get_output": self.get_output,
            "load_params": self.load_params,
            "run": functools.partial(self.module.run),
            "set_input": self.set_input,
            "share_params": self.share_params,
        }
        if key not in found:
            raise ArgumentError(f"expected one of {sorted(found)}, got '{key}'")
        return found[key]


def _copied(memory: Any, out: NDArray | None) -> NDArray:
    if out is not None:
        wanted = getattr(memory, "shape", ())
        is_array = isinstance(cast("object", out), NDArray)
        shape: object = getattr(out, "shape", None)
        if not is_array or shape != wanted:
            got = (
                describe_kind(out)
                if shape is None
                else f"{describe_kind(out)} of {shape}"
            )
            raise ArgumentError(
                f"expected an NDArray of shape {wanted} to copy a result to, got {got}"
            )
        out.writable()[...] = memory
    return NDArray.owning(np.array(memory))
