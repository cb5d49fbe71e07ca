"""The graph as one function, which C calls without an executor: AOT, ahead of time.

It takes a pointer to each input, to each result, to the weights as they lie in the file
of the library, and to memory for what is between. It calls kernel after kernel, and
ends with the first that finds a fault.
"""

from __future__ import annotations

from collections.abc import Mapping

from parpass.errors import CodeGenError
from parpass.runtime.graph_json import Graph, GraphNode, GraphValue
from parpass.runtime.library_file import places_of
from parpass.runtime.ndarray import NDArray
from parpass.runtime.signature import Passed, Signature
from parpass.tir.expr import Buffer, IntImm, PrimExpr, StringImm, decl_buffer
from parpass.tir.function import PrimFunc
from parpass.tir.op import call_extern
from parpass.tir.stmt import AssertStmt, stmt_seq

_ALIGNED = 64  # bytes, as kernels' memory is

_Entry = tuple[int, int]


def aot_main(
    graph: Graph,
    params: Mapping[str, NDArray],
    signatures: Mapping[str, Signature],
    name: str,
) -> PrimFunc:
    """Return the function that runs a graph.

    Args:
        graph: The graph.
        params: Its weights, by the names of their nodes.
        signatures: How its kernels are called, by name.
        name: The function's name in C.

    Raises:
        CodeGenError: What it calls is not machine code, or is no kernel.
    """
    return _MainWriter(graph, params, signatures).written(name)


class _MainWriter:
    def __init__(
        self,
        graph: Graph,
        params: Mapping[str, NDArray],
        signatures: Mapping[str, Signature],
    ) -> None:
        self._graph = graph
        self._signatures = signatures
        self._row_ptr = graph.row_ptr()
        missing = {one.function for one in graph.nodes if one.function} - {*signatures}
        if missing:
            raise CodeGenError(
                f"expected kernels of machine code for an AOT main, but numpy computes "
                f"'{min(missing)}'; build for the graph executor"
            )
        inputs = [at for at in graph.arg_nodes if graph.nodes[at].name not in params]
        self._inputs = {
            (at, 0): _buffer(graph.nodes[at].name, self._value((at, 0)))
            for at in inputs
        }
        self._outputs = [
            _buffer(f"output_{at}", self._value(head))
            for at, head in enumerate(graph.heads)
        ]
        places, size = places_of(params)
        self._weights = decl_buffer((size,), "uint8", "weights")
        self._weight_at = {
            (at, 0): places[graph.nodes[at].name]
            for at in graph.arg_nodes
            if graph.nodes[at].name in params
        }
        self._offsets, between = self._laid_out()
        self._own = between  # where kernels have memory of their own
        own = [
            signatures[one.function].workspace for one in graph.nodes if one.function
        ]
        total = between + max(own, default=0)
        self._workspace = decl_buffer((total,), "uint8", "workspace")

    def written(self, name: str) -> PrimFunc:
        copies = [
            self._copied(head, self._outputs[at])
            for at, head in enumerate(self._graph.heads)
            if self._result_at(head) != at
        ]
        body = stmt_seq(*copies, IntImm("int32", 0))
        for at, node in reversed([*enumerate(self._graph.nodes)]):
            if node.function:
                called = self._call(at, node)
                told = StringImm(f"kernel '{node.name}' ends well")
                body = AssertStmt(called.equal(0), told, body)
        buffers = [*self._inputs.values(), *self._outputs]
        buffers += [self._weights, self._workspace]
        return PrimFunc(buffers, body, attrs={"global_symbol": name})

    def _value(self, entry: _Entry) -> GraphValue:
        return self._graph.values[self._row_ptr[entry[0]] + entry[1]]

    def _result_at(self, entry: _Entry) -> int | None:
        """Return the first result that a value is, if a kernel writes it there."""
        if not self._graph.nodes[entry[0]].function or entry not in self._graph.heads:
            return None
        return self._graph.heads.index(entry)

    def _laid_out(self) -> tuple[dict[int, int], int]:
        """Return where in the workspace each memory of the graph's plan is."""
        sizes: dict[int, int] = {}
        for at, node in enumerate(self._graph.nodes):
            for output in range(node.num_outputs if node.function else 0):
                if self._result_at((at, output)) is None:
                    one = self._value((at, output))
                    sizes[one.storage] = max(one.nbytes, sizes.get(one.storage, 0))
        at, found = 0, dict[int, int]()
        for storage, size in sizes.items():
            found[storage] = at
            at += -(-size // _ALIGNED) * _ALIGNED
        return found, at

    def _call(self, at: int, node: GraphNode) -> PrimExpr:
        signature = self._signatures[node.function]
        entries = [*node.inputs, *((at, out) for out in range(node.num_outputs))]
        given = [self._given(one, entries, signature) for one in signature.passed]
        return call_extern("int32", signature.symbol, *given)

    def _given(
        self, one: Passed, entries: list[_Entry], signature: Signature
    ) -> PrimExpr:
        if one.what == "data":
            return self._pointer(entries[one.argument])
        if one.what == "workspace":
            return _at(self._workspace, "w", self._own)
        shape = self._value(entries[one.argument]).shape
        if one.what == "dimension":
            return IntImm("int64", shape[one.at])
        raise CodeGenError(
            f"expected a kernel that takes arrays, '{signature.symbol}' takes a "
            f"{one.what}"
        )

    def _pointer(self, entry: _Entry) -> PrimExpr:
        if entry in self._inputs:
            return _at(self._inputs[entry], "r")
        if entry in self._weight_at:
            return _at(self._weights, "r", self._weight_at[entry])
        result = self._result_at(entry)
        if result is not None:
            return _at(self._outputs[result], "w")
        return _at(self._workspace, "rw", self._offsets[self._value(entry).storage])

    def _copied(self, entry: _Entry, into: Buffer) -> PrimExpr:
        size = IntImm("int64", self._value(entry).nbytes)
        given = (_at(into, "w"), self._pointer(entry), size)
        return call_extern("handle", "memcpy", *given)


def _buffer(name: str, value: GraphValue) -> Buffer:
    return decl_buffer(value.shape, value.dtype, name)


def _at(buffer: Buffer, access: str, offset: int = 0) -> PrimExpr:
    return buffer.access_ptr(access, offset=IntImm("int64", offset))
