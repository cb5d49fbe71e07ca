"""One ONNX graph becomes one function."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import onnx

from parpass.errors import (
    FrontendError,
    IRError,
    MalformedModelError,
    UnsupportedOpsError,
)
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Constant, Expr, Function, Tuple, TupleWrapper, Var
from parpass.relay.frontend.onnx.body import (
    allows,
    attributes_of,
    body_of,
    bound,
    schema_of,
)
from parpass.relay.frontend.onnx.known import KnownValues
from parpass.relay.frontend.onnx.model import (
    Model,
    domain_of,
    operator_name,
    opsets_of,
)
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.relay.frontend.onnx.parameter import ParameterTypes
from parpass.relay.frontend.onnx.scope import Scope
from parpass.relay.frontend.onnx.spans import SpanMarker, listing_line, span_of, title
from parpass.relay.frontend.onnx.support import unsupported
from parpass.relay.typing.built import BuiltTypes

# Functions that call others twice, and these others twice, grow without an end.
_MOST_NODES = 50_000


class GraphImporter:
    """Converts the nodes of a graph in their order, which is that of the data flow.

    A node whose operator has no converter, but a body, is replaced by the nodes of the
    body; so are the functions of the model. What they give leads to that node.

    Args:
        model: The model; its operators are all in the table, or have bodies.
        types: What the caller says about the inputs.
    """

    def __init__(self, model: Model, types: ParameterTypes) -> None:
        self._model = model
        self._source = model.source
        self._graph = model.proto.graph
        self._declared = types
        self._types = BuiltTypes()
        self._values = KnownValues()
        self._spans = SpanMarker()
        self._functions = set[str]()  # those that are being converted
        self._converted = 0  # nodes

    def function(self) -> tuple[Function, dict[str, Constant]]:
        """Return the function of the graph, and the constants of its initializers.

        Raises:
            MalformedModelError: The graph is inconsistent.
            FrontendError: It does something that is not supported.
        """
        scope = self._scope(self._graph, None)
        params: list[Var] = []
        for given in self._graph.input:
            if not scope.is_known_before(given.name):
                params.append(self._declared.parameter(given, self._source))
                self._define(scope, given.name, params[-1], self._source)
        for index, proto in enumerate(self._graph.node):
            self._spans.span = span_of(proto, index, self._source)
            place = f"{self._source}: node {index + 1} ({title(proto)})"
            self._convert(proto, scope, place)
        results = tuple(scope.results(self._source))
        body = results[0] if len(results) == 1 else Tuple(results)
        return Function(tuple(params), body), scope.weights()

    def listing(self) -> str:
        """Return the graph as text, a line for each node, for diagnostics to show."""
        return "\n".join(listing_line(node) for node in self._graph.node)

    def _scope(self, graph: onnx.GraphProto, outer: Scope | None) -> Scope:
        if graph.sparse_initializer:
            raise FrontendError(
                f"{self._source}: sparse initializers are not supported",
                source=self._source,
            )
        return Scope(
            self._source,
            graph.node,
            [output.name for output in graph.output],
            self._model.opsets if outer is None else outer.opsets,
            tensors=graph.initializer,
            outer=outer,
        )

    def _convert(self, proto: onnx.NodeProto, scope: Scope, place: str) -> None:
        self._converted += 1
        if self._converted > _MOST_NODES + len(self._graph.node):
            raise FrontendError(
                f"{place}: expected bodies and loops of up to {_MOST_NODES} nodes, all "
                "written out, got more",
                source=self._source,
            )
        inputs = [scope.value(name, place) if name else None for name in proto.input]
        for one in inputs:
            if one is not None:
                self._spans.keep(one)  # an initializer that is read the first time
        name = operator_name(proto)
        known = name not in self._model.functions and name in CONVERTERS
        convert = self._by_converter if known else self._by_body
        results = convert(proto, inputs, scope, place)
        for output, result in zip(proto.output, results, strict=False):
            if output and result is not None:
                self._define(scope, output, result, place)

    def _define(self, scope: Scope, name: str, value: Expr, place: str) -> None:
        scope.define(name, value, place)
        self._spans.keep(value)

    def _by_converter(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Expr | None],
        scope: Scope,
        place: str,
    ) -> list[Expr]:
        opset = scope.opsets.get(domain_of(proto), 0)
        node = OnnxNode(
            proto,
            place=place,
            source=self._source,
            opset=opset,
            inputs=inputs,
            types=self._types,
            values=self._values,
            branch=lambda graph, given: self._branch(graph, given, scope, place),
        )
        try:
            converted = CONVERTERS[operator_name(proto)](node)
            node.check_all_read()
            several = isinstance(converted, TupleWrapper)
            results = [
                self._spans.mark(result)
                for result in (converted if several else (converted,))
            ]
            for result in results:
                self._types.type_of(result)
        except IRError as error:
            types = [None if one is None else self._types.tensor(one) for one in inputs]
            schema = schema_of(proto, opset)
            raise self._refusal(schema, proto, types, place, error) from error
        except MemoryError as error:
            raise FrontendError(
                f"{place}: what it makes has no room in memory; are its sizes meant?",
                source=self._source,
            ) from error
        count = len(results)
        more = [name for name in proto.output[count:] if name and name in scope.read]
        if more:
            first = "its first output is" if count == 1 else f"{count} outputs are"
            raise node.refusal(f"only {first} supported, not '{more[0]}'")
        return results

    def _refusal(
        self,
        schema: onnx.defs.OpSchema | None,
        proto: onnx.NodeProto,
        types: Sequence[TensorType | None],
        place: str,
        error: Exception,
    ) -> FrontendError:
        """Return the error of a node, which is the model's if ONNX's rules say so."""
        allowed = allows(schema, proto, types)
        kind = FrontendError if allowed else MalformedModelError
        return kind(f"{place}: {error}", source=self._source)

    def _branch(
        self, graph: onnx.GraphProto, inputs: Sequence[Expr], scope: Scope, place: str
    ) -> list[Expr]:
        """Convert a graph inside of a node, which sees the names around it."""
        inner = self._scope(graph, scope)
        if len(graph.input) != len(inputs):
            raise MalformedModelError(
                f"{place}: expected a graph of {len(inputs)} inputs, got "
                f"{len(graph.input)}",
                source=self._source,
            )
        for given, value in zip(graph.input, inputs, strict=True):
            self._define(inner, given.name, value, place)
        for proto in graph.node:
            self._convert(proto, inner, f"{place}: {title(proto)}")
        return inner.results(place)

    def _by_body(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Expr | None],
        scope: Scope,
        place: str,
    ) -> Sequence[Expr | None]:
        """Convert the nodes that the operator of a node stands for."""
        name = operator_name(proto)
        schema = None
        function = self._model.functions.get(name)
        if function is None:
            schema = schema_of(proto, scope.opsets.get(domain_of(proto), 0))
            types = [None if one is None else self._types.tensor(one) for one in inputs]
            try:
                if schema is not None:
                    function = body_of(schema, proto, scope.opsets.get("", 0), types)
            except ValueError as error:
                raise self._refusal(schema, proto, types, place, error) from error
            if function is None:
                raise FrontendError(
                    f"{place}: ONNX does not say what it stands for here",
                    source=self._source,
                )
        nodes = bound(function.node, attributes_of(function, proto, schema))
        opsets = {**scope.opsets, **opsets_of(function.opset_import)}
        unknown = unsupported(nodes, self._model.functions, opsets)
        if unknown:
            raise UnsupportedOpsError(dict(unknown), source=self._source)
        inner = Scope(self._source, nodes, function.output, opsets)
        for at, given in enumerate(function.input):
            inner.define(given, inputs[at] if at < len(inputs) else None, place)
        with self._inside(name, place):
            try:
                for node in nodes:
                    self._convert(node, inner, f"{place}: {title(node)}")
            except MalformedModelError as error:
                if schema is None:
                    raise
                # A body of ONNX's that does not fit is no fault of the model.
                raise FrontendError(str(error), source=self._source) from error
        pairs = zip(function.output, proto.output, strict=False)
        return [inner.result(one, place) if read else None for one, read in pairs]

    @contextmanager
    def _inside(self, name: str, place: str) -> Generator[None]:
        if name in self._functions:
            raise MalformedModelError(
                f"{place}: function {name} calls itself", source=self._source
            )
        self._functions.add(name)
        try:
            yield
        finally:
            self._functions.discard(name)
