"""A network as the graph executor runs it: TVM's graph, and its JSON.

Nodes stand in the order in which they are run. A node is an input (`null`) or a call of
a compiled function (`tvm_op`), which gives one value or several; all values have
numbers, those of a node one after the other. Source of the format: TVM 0.8,
`src/runtime/graph_executor/graph_executor.h`.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from typing import Any, NamedTuple

from parpass.errors import LibraryError
from parpass.runtime.dtypes import numpy_dtype

_CPU = 1
_SPARE = 128  # bytes for a value's place to begin at a multiple of something
_MOST_DIMENSIONS = 32  # that arrays of all versions of numpy have
_NO_GRAPH = (  # what JSON of another form has its readers raise
    *(ArithmeticError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)


class GraphNode(NamedTuple):
    """An input, or a call of a function.

    Attributes:
        name: Its own.
        function: The name of the function; empty for an input.
        inputs: The values that it is given: of which node, and which one of that.
        num_outputs: How many values it gives.
    """

    name: str
    function: str = ""
    inputs: tuple[tuple[int, int], ...] = ()
    num_outputs: int = 1


class GraphValue(NamedTuple):
    """The properties of a value.

    Attributes:
        shape: The shape.
        dtype: The dtype of its elements.
        storage: The number of its memory. Values that are not needed at the same time
            may share memory.
    """

    shape: tuple[int, ...]
    dtype: str
    storage: int

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize


class Graph(NamedTuple):
    """A network: its nodes, its values, and which of these are its results."""

    nodes: tuple[GraphNode, ...]
    values: tuple[GraphValue, ...]
    heads: tuple[tuple[int, int], ...]

    @property
    def arg_nodes(self) -> list[int]:
        """The nodes that are inputs, in their order."""
        return [at for at, node in enumerate(self.nodes) if not node.function]

    def row_ptr(self) -> list[int]:
        """Return the number of each node's first value, and how many there are."""
        found = [0]
        for node in self.nodes:
            found.append(found[-1] + node.num_outputs)
        return found

    def to_json(self) -> str:
        """Return TVM's JSON, always the same."""
        attrs = {
            "dltype": ["list_str", [one.dtype for one in self.values]],
            "device_index": ["list_int", [_CPU] * len(self.values)],
            "storage_id": ["list_int", [one.storage for one in self.values]],
            "shape": ["list_shape", [list(one.shape) for one in self.values]],
        }
        said = {
            "nodes": [_node_json(node) for node in self.nodes],
            "arg_nodes": self.arg_nodes,
            "heads": [[*head, 0] for head in self.heads],
            "attrs": attrs,
            "node_row_ptr": self.row_ptr(),
        }
        return json.dumps(said)


def _node_json(node: GraphNode) -> dict[str, Any]:
    inputs = [[*entry, 0] for entry in node.inputs]
    if not node.function:
        return {"op": "null", "name": node.name, "inputs": inputs}
    attrs = {
        "num_outputs": str(node.num_outputs),
        "num_inputs": str(len(inputs)),
        "flatten_data": "0",
        "func_name": node.function,
    }
    return {"op": "tvm_op", "name": node.name, "attrs": attrs, "inputs": inputs}


def read_graph(text: str) -> Graph:
    """Return the graph of which this is the JSON.

    Raises:
        LibraryError: It is none, or a node asks for what no node before it gives.
    """
    try:
        return _checked(text)
    except _NO_GRAPH as error:
        raise LibraryError(
            f"expected the JSON of a graph as relay.build makes it ({error})"
        ) from None


@functools.lru_cache(maxsize=8)
def _checked(text: str) -> Graph:
    graph = _read(json.loads(text))
    _check(graph)
    return graph


def _read(said: Any) -> Graph:
    attrs = {name: value for name, (_, value) in said["attrs"].items()}
    values = (
        GraphValue(tuple(map(int, shape)), dtype, int(storage))
        for shape, dtype, storage in zip(
            attrs["shape"], attrs["dltype"], attrs["storage_id"], strict=True
        )
    )
    heads = tuple((int(head[0]), int(head[1])) for head in said["heads"])
    return Graph(tuple(map(_read_node, said["nodes"])), tuple(values), heads)


def _read_node(said: Any) -> GraphNode:
    if said["op"] == "null":
        return GraphNode(said["name"])
    if said["op"] != "tvm_op":
        raise ValueError(f"node '{said['name']}' is of kind '{said['op']}'")
    attrs = said["attrs"]
    if not attrs["func_name"]:
        raise ValueError(f"node '{said['name']}' calls no function")
    inputs = tuple((int(entry[0]), int(entry[1])) for entry in said["inputs"])
    count = int(attrs["num_outputs"])
    return GraphNode(said["name"], attrs["func_name"], inputs, count)


def _check(graph: Graph) -> None:
    def check(entry: tuple[int, int], before: int) -> None:
        node, output = entry
        if not 0 <= node < before or not 0 <= output < graph.nodes[node].num_outputs:
            raise ValueError(f"no value {output} of node {node} before {before}")

    for at, node in enumerate(graph.nodes):
        if type(node.name) is not str or type(node.function) is not str:
            raise TypeError(f"node {at} has no name, or its function has none")
        if node.num_outputs < 0:
            raise ValueError(f"node '{node.name}' gives {node.num_outputs} values")
        for entry in node.inputs:
            check(entry, at)
    for head in graph.heads:
        check(head, len(graph.nodes))
    names = [graph.nodes[at].name for at in graph.arg_nodes]
    if len({*names}) != len(names):
        raise ValueError("two inputs of one name")
    if graph.row_ptr()[-1] != len(graph.values):
        raise ValueError(f"{len(graph.values)} values of {graph.row_ptr()[-1]}")
    _check_values(graph.values)


def _check_values(values: tuple[GraphValue, ...]) -> None:
    """Check that there can be arrays for all of them at once."""
    left = sys.maxsize
    for one in values:
        if min(one.shape, default=0) < 0:
            raise ValueError("a dimension below 0")
        if len(one.shape) > _MOST_DIMENSIONS:
            raise ValueError(f"a value of {len(one.shape)} dimensions")
        # An empty one is checked as numpy does, by its dimensions that are not 0.
        size = math.prod(filter(None, one.shape)) * numpy_dtype(one.dtype).itemsize
        left -= size + _SPARE
        if left < 0:
            raise ValueError(f"no machine has memory for shape {one.shape}")
