"""Runs a graph: memory is laid out once, calls are made ready once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError, LibraryError, UnknownFunctionError
from parpass.runtime.array_like import as_number_array
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.graph_json import Graph, GraphNode, GraphValue
from parpass.runtime.kernel_call import KernelCall, Prepared, aligned_bytes
from parpass.runtime.ndarray import NDArray

Array = npt.NDArray[Any]
_Call = Callable[[], object]


@runtime_checkable
class FunctionLookup(Protocol):
    """A mapping from names to functions, such as a `Module`."""

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """Return a function."""
        ...


class GraphRunner:
    """A graph with its memory: what `lib["default"](tvm.cpu())` gives.

    Values that are not needed at the same time share memory, as the graph says. Weights
    are read where they are, in mapped pages of a library's file, until others are set.
    It is for one thread at a time; several of one library share code and weights.

    Args:
        graph: The graph.
        library: What its functions are in.
        params: Values of inputs, by name.

    Raises:
        LibraryError: The graph is not that of the library.
    """

    type_key = "GraphExecutor"

    def __init__(
        self, graph: Graph, library: FunctionLookup, params: Mapping[str, NDArray]
    ) -> None:
        self.graph = graph
        self.inputs = {graph.nodes[at].name: at for at in graph.arg_nodes}
        self._row_ptr = graph.row_ptr()
        self._functions = [self._found(node, library) for node in graph.nodes]
        self._arrays = self._laid_out(params)
        self._rows: list[_Call] | None = None
        for name, value in params.items():
            try:
                self.bind(name, value.numpy())
            except ArgumentError as error:
                raise LibraryError(
                    f"weights are not those of the graph: {error}"
                ) from None

    def _found(self, node: GraphNode, library: FunctionLookup) -> Any:
        if not node.function:
            return None
        try:
            found = library.get_function(node.function, query_imports=True)
        except UnknownFunctionError:
            raise LibraryError(
                f"node '{node.name}' of the graph calls '{node.function}', which the "
                "library does not have; use the graph that was built with it"
            ) from None
        return getattr(found, "body", found)

    def _laid_out(self, params: Container[str]) -> list[Array]:
        """Return the array of each value; inputs share memory with nothing.

        Those that are given values, where these are, get no memory.
        """
        sizes: dict[int, int] = {}
        for one in self.graph.values:
            sizes[one.storage] = max(one.nbytes, sizes.get(one.storage, 0))
        whole = aligned_bytes(sum(map(_rounded, sizes.values())))
        at, places = 0, dict[int, int]()
        for storage, size in sizes.items():
            places[storage] = at
            at += _rounded(size)
        inputs = {self._row_ptr[at]: name for name, at in self.inputs.items()}
        found: list[Array] = []
        for number, one in enumerate(self.graph.values):
            if number in inputs:
                found.append(_zeros(one, as_one=inputs[number] in params))
                continue
            place = places[one.storage]
            flat = whole[place : place + one.nbytes].view(numpy_dtype(one.dtype))
            found.append(flat.reshape(one.shape))
        return found

    # Inputs and results.

    def input_node(self, key: str | int) -> int:
        """Return the number of an input's node.

        Args:
            key: Its name, or which one of the inputs it is.

        Raises:
            ArgumentError: There is none of that name or number.
        """
        names = list(self.inputs)
        if isinstance(key, str) and key in self.inputs:
            return self.inputs[key]
        if not isinstance(key, str) and 0 <= key < len(names):
            return self.inputs[names[key]]
        shown = ", ".join(f"'{name}'" for name in names[:8])
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise ArgumentError(
            f"expected an input of the graph ({shown or 'it has none'}{more}), got "
            f"{key!r}"
        )

    def value(self, node: int, output: int = 0) -> Array:
        """Return the memory of a value."""
        return self._arrays[self._row_ptr[node] + output]

    def set_input(self, key: str | int, given: Any) -> None:
        """Copy a value to an input.

        Raises:
            ArgumentError: There is no such input, or the value is no array of numbers,
                not of its shape, or of a dtype that would lose more than precision.
        """
        node = self.input_node(key)
        name, memory = self.graph.nodes[node].name, self.value(node)
        if isinstance(given, NDArray):
            array = given.numpy()
        else:
            array = as_number_array(given, f"input '{name}'")
        if array.shape != memory.shape:
            raise ArgumentError(
                f"expected shape {memory.shape} for input '{name}', got {array.shape}"
            )
        if not _casts(array.dtype, memory.dtype):
            raise ArgumentError(
                f"expected {memory.dtype} for input '{name}', got {array.dtype}"
            )
        if not memory.flags.writeable:  # a weight of the library
            memory = np.empty(memory.shape, memory.dtype)
            self._replace(node, memory)
        memory[...] = array

    def bind(self, key: str | int, array: Array) -> None:
        """Bind an input to an array, which is read in place.

        Raises:
            ArgumentError: There is no such input, or it has another shape or dtype.
        """
        node = self.input_node(key)
        memory = self.value(node)
        if (array.shape, array.dtype) != (memory.shape, memory.dtype):
            raise ArgumentError(
                f"expected {memory.dtype} of shape {memory.shape} for input "
                f"'{self.graph.nodes[node].name}', got {array.dtype} of {array.shape}"
            )
        self._replace(node, np.ascontiguousarray(array).reshape(array.shape))

    def _replace(self, node: int, array: Array) -> None:
        self._arrays[self._row_ptr[node]] = array
        self._rows = None  # they have addresses

    # Running.

    def run(self, until: int | None = None) -> None:
        """Make the calls in their order.

        Those of machine code that follow each other are one for Python.

        Args:
            until: The node after which to stop; None for the last one.

        Raises:
            KernelError: A function found a fault.
        """
        if until is not None:
            for node, call in self._calls():
                if node <= until:
                    call()
            return
        if self._rows is None:
            self._rows = _in_rows(call for _, call in self._calls())
        for call in self._rows:
            call()

    def _calls(self) -> list[tuple[int, _Call]]:
        """Return the call of each node, ready to be made."""
        workspace = aligned_bytes(max(map(_workspace_of, self._functions), default=0))
        return [
            (at, _ready(function, self._arguments(at), workspace))
            for at, function in enumerate(self._functions)
            if function is not None
        ]

    def _arguments(self, at: int) -> list[Array]:
        node = self.graph.nodes[at]
        given = [self.value(*entry) for entry in node.inputs]
        return given + [self.value(at, output) for output in range(node.num_outputs)]


def _in_rows(calls: Iterable[_Call]) -> list[_Call]:
    """Return the first of each row of kernels, which C calls the others behind."""
    found: list[_Call] = []
    last: _Call | None = None
    for call in calls:
        if isinstance(call, Prepared) and isinstance(last, Prepared):
            last.then(call)
        else:
            found.append(call)
        last = call
    return found


def _ready(function: Any, arguments: Sequence[Array], workspace: Array) -> _Call:
    if isinstance(function, KernelCall):
        return function.prepared(arguments, workspace)
    return functools.partial(cast("Callable[..., object]", function), *arguments)


def _workspace_of(function: Any) -> int:
    return function.signature.workspace if isinstance(function, KernelCall) else 0


def _zeros(value: GraphValue, *, as_one: bool) -> Array:
    """Return zeros; `as_one` says that they are not written, and may share memory."""
    dtype = numpy_dtype(value.dtype)
    if as_one:
        return np.broadcast_to(np.zeros((), dtype), value.shape)
    return np.zeros(value.shape, dtype)


def _rounded(size: int) -> int:
    return -(-size // 64) * 64


def _casts(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    if given == wanted or np.can_cast(given, wanted, "same_kind"):
        return True
    # Python's numbers come as int64, and numpy knows no kinds of narrow floats.
    return given.kind in "iub" if wanted.kind in "iufV" else wanted.kind == "V"
