"""Converts an ONNX graph to a function: names, spans, nodes in order."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
import onnx

from parpass.diagnostic import Span
from parpass.errors import (
    FrontendError,
    IRError,
    MalformedModelError,
    UnsupportedOpsError,
)
from parpass.ir.types import TensorType
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    const,
)
from parpass.relay.frontend.onnx.body import (
    allows,
    attributes_of,
    body_of,
    bound,
    schema_of,
    unsupported,
)
from parpass.relay.frontend.onnx.model import (
    Model,
    domain_of,
    graphs_of,
    operator_name,
    opsets_of,
)
from parpass.relay.frontend.onnx.onnx_node import KnownValues, OnnxNode
from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.relay.frontend.onnx.parameters import ParameterTypes
from parpass.relay.frontend.onnx.tensor_proto import array_of
from parpass.relay.functor import ExprMutator
from parpass.relay.typing.built import BuiltTypes


def title(node: onnx.NodeProto) -> str:
    """Return a node's operator and its name, or its first output where it has none."""
    names = [name for name in (node.name, *node.output) if name]
    return operator_name(node) + (f" '{names[0]}'" if names else "")


def listing_line(node: onnx.NodeProto) -> str:
    """Return a node as one line of the listing that diagnostics show."""
    comment = f"  # {node.name}" if node.name else ""
    results, inputs = ", ".join(node.output), ", ".join(node.input)
    return f"{results} = {operator_name(node)}({inputs}){comment}"


def span_of(node: onnx.NodeProto, index: int, source: str) -> Span:
    """Return the span of a node: its line in the listing of the model's nodes."""
    return Span(source, index + 1, index + 1, 1, len(listing_line(node)) + 1)


class SpanMarker(ExprMutator):
    """Gives what a converter built the span of its node; builders know no spans."""

    span: Span

    def keep(self, expr: Expr) -> None:
        """Leave an expression, and what is below it, as it is from now on."""
        self.memo_map[expr] = expr

    def mark(self, expr: Expr) -> Expr:
        """Return an expression with the span, down to the expressions that are kept."""
        return self.visit(expr)

    def visit_call(self, call: Call) -> Expr:
        """Mark a call."""
        return self._marked(super().visit_call(call))

    def visit_tuple(self, tup: Tuple) -> Expr:
        """Mark a tuple."""
        return self._marked(super().visit_tuple(tup))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Mark a projection."""
        return self._marked(super().visit_tuple_getitem(op))

    def visit_constant(self, const: Constant) -> Expr:
        """Mark a constant."""
        return self._marked(const)

    def _marked(self, expr: Expr) -> Expr:
        return msgspec.structs.replace(expr, span=self.span)


class Scope:
    """The values of one graph, or of one function's body, by their names.

    Args:
        source: The name of the model.
        nodes: The nodes that will define further values, in their order.
        results: The names that the graph gives out.
        opsets: The versions of the operators by domain.
        tensors: The initializers.
        outer: The scope around this one, whose names can be read in it, too.
    """

    def __init__(
        self,
        source: str,
        nodes: Iterable[onnx.NodeProto],
        results: Iterable[str],
        opsets: Mapping[str, int],
        *,
        tensors: Iterable[onnx.TensorProto] = (),
        outer: Scope | None = None,
    ) -> None:
        self.opsets = opsets
        self._source = source
        self._nodes = list(nodes)
        self._results = tuple(results)
        self._outer = outer
        self._values: dict[str, Expr | None] = {}
        self._tensors = {one.name: one for one in tensors}
        self.read = {*_names_read(self._nodes), *self._results}

    def is_known_before(self, name: str) -> bool:
        """Return whether a name has an initializer, and so is no parameter."""
        return name in self._tensors

    def define(self, name: str, value: Expr | None, place: str) -> None:
        """Give a name its value; None for an input that is left out.

        Raises:
            MalformedModelError: The name has one already.
        """
        if name in self._values or name in self._tensors:
            raise MalformedModelError(
                f"{place}: '{name}' is defined twice", source=self._source
            )
        self._values[name] = value

    def value(self, name: str, place: str) -> Expr | None:
        """Return what a name stands for.

        Raises:
            MalformedModelError: Nothing defines it, or only a later node does.
        """
        if name in self._values:
            return self._values[name]
        if name in self._tensors:
            found = const(array_of(self._tensors[name], place, self._source))
            self._values[name] = found
            return found
        later = any(name in node.output for node in self._nodes)
        if self._outer is not None and not later:
            return self._outer.value(name, place)
        what = "that only a later node defines" if later else "that nothing defines"
        raise MalformedModelError(
            f"{place}: it reads '{name}', {what}", source=self._source
        )

    def weights(self) -> dict[str, Constant]:
        """Return the initializers that were read, by name, in the model's order."""
        found = {name: self._values.get(name) for name in self._tensors}
        return {k: one for k, one in found.items() if isinstance(one, Constant)}

    def result(self, name: str, place: str) -> Expr:
        """Return what a name that is given out stands for.

        Raises:
            FrontendError: It is an input that is left out.
        """
        found = self.value(name, place)
        if found is None:
            raise FrontendError(
                f"{place}: its result '{name}' is an input that is left out",
                source=self._source,
            )
        return found

    def results(self, place: str) -> list[Expr]:
        """Return all that the graph gives out."""
        return [self.result(name, place) for name in self._results]


def _names_read(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """Yield the names that nodes read, and the graphs inside of them."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield from node.input
        for graph in graphs_of(node):
            yield from (output.name for output in graph.output)
            waiting += graph.node


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
