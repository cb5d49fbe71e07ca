"""Converts an ONNX graph to a function: names, spans, nodes in order."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import msgspec
import onnx

from parpass.diagnostic import Span
from parpass.errors import (
    FrontendError,
    IRError,
    MalformedModelError,
    UnsupportedOpsError,
)
from parpass.ir.types import TupleType
from parpass.relay.analysis.matchers import static_tensor
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
    attributes_of,
    body_of,
    bound,
    complaint,
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
from parpass.relay.frontend.onnx.onnx_node import KnownValues, OnnxNode, Quantized
from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.relay.frontend.onnx.parameters import InputSettings
from parpass.relay.frontend.onnx.tensor_proto import array_of
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.fold_constant import ConstantFolder
from parpass.relay.type_inference.built import BuiltTypes
from parpass.transform import PassContext


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


class Finisher(ExprMutator):
    """Finishes what a converter built: gives it spans, and folds what is constant.

    Weights stay as they are, since they may become parameters, save where only their
    values tell a shape.

    Args:
        types: Knows the types of what was built.
        values: Knows what depends on the model's inputs, and on its weights.
        evaluator: Evaluates the calls, within the limits of `FoldConstant`.

    Attributes:
        span: The place of the node that is converted.
    """

    span: Span

    def __init__(
        self, types: BuiltTypes, values: KnownValues, evaluator: Evaluator
    ) -> None:
        super().__init__()
        self._types = types
        self._values = values
        self._evaluator = evaluator

    def keep(self, expr: Expr) -> None:
        """Leave an expression, and what is below it, as it is from now on."""
        self.memo_map[expr] = expr

    def finished(self, expr: Expr) -> Expr:
        """Return an expression that is finished down to what is kept."""
        found = self.visit(expr)
        quantized = self._values.quantized.get(expr)
        if quantized is not None:
            finished = Quantized(*map(self.visit, quantized))
            self._values.quantized[found] = finished
        return found

    def visit_call(self, call: Call) -> Expr:
        """Mark a call, or return its value."""
        new = self._marked(super().visit_call(call))
        if self._values.depends_on_inputs(new):
            return new
        if self._values.depends_on_weights(new) and self._has_known_shape(new):
            return new
        return ConstantFolder(self._evaluator).visit(new)

    def visit_tuple(self, tup: Tuple) -> Expr:
        """Mark a tuple."""
        return self._marked(super().visit_tuple(tup))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Mark a projection, or return what a literal tuple has there."""
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        if isinstance(new.tuple_value, Tuple):
            return new.tuple_value.fields[new.index]
        return self._marked(new)

    def visit_constant(self, const: Constant) -> Expr:
        """Mark a constant."""
        return self._marked(const)

    def _marked(self, expr: Expr) -> Expr:
        return msgspec.structs.replace(expr, span=self.span)

    def _has_known_shape(self, expr: Expr) -> bool:
        found = self._types.get(expr)
        fields = found.fields if isinstance(found, TupleType) else (found,)
        return all(static_tensor(one) is not None for one in fields)


class Scope:
    """The values of one graph, or of one function's body, by their names.

    Args:
        source: The name of the model.
        nodes: The nodes that will define further values, in their order.
        results: The names that the graph gives out.
        opsets: The versions of the operators by domain.
        tensors: The initializers.
        outer: The scope around this one, whose names can be read in it, too.
        weights: Initializers that are read are added to it.
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
        weights: set[Expr] | None = None,
    ) -> None:
        self.opsets = opsets
        self._source = source
        self._nodes = list(nodes)
        self._results = tuple(results)
        self._outer = outer
        self._values: dict[str, Expr | None] = {}
        self._tensors = {one.name: one for one in tensors}
        self._weights = set[Expr]() if weights is None else weights
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
            self._weights.add(found)
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
        settings: What the caller says about the inputs.
    """

    _finisher: Finisher  # while nodes are converted

    def __init__(self, model: Model, settings: InputSettings) -> None:
        self._model = model
        self._source = model.source
        self._graph = model.proto.graph
        self._settings = settings
        self._types = BuiltTypes()
        self._weights = set[Expr]()
        self._values = KnownValues(self._weights)
        self._functions = set[str]()  # those that are being converted
        self._converted = 0  # nodes

    def function(self) -> tuple[Function, dict[str, Constant]]:
        """Return the function of the graph, and the constants of its initializers.

        Raises:
            MalformedModelError: The graph is inconsistent.
            FrontendError: It does something that is not supported.
        """
        with Evaluator.of(Tuple(()), PassContext.current()) as evaluator:
            self._finisher = Finisher(self._types, self._values, evaluator)
            return self._function()

    def _function(self) -> tuple[Function, dict[str, Constant]]:
        scope = self._scope(self._graph, None)
        params: list[Var] = []
        for given in self._graph.input:
            if not scope.is_known_before(given.name):
                value = self._settings.value(given, self._model)
                self._define(scope, given.name, value, self._source)
                params += [value] if isinstance(value, Var) else []
        for index, proto in enumerate(self._graph.node):
            self._finisher.span = span_of(proto, index, self._model.span_name)
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
        tensors = graph.initializer
        if outer is None:
            fixed = self._settings.constants
            tensors = [one for one in tensors if one.name not in fixed]
        return Scope(
            self._source,
            graph.node,
            [output.name for output in graph.output],
            self._model.opsets if outer is None else outer.opsets,
            tensors=tensors,
            outer=outer,
            weights=self._weights if outer is None else None,
        )

    def _convert(self, proto: onnx.NodeProto, scope: Scope, place: str) -> None:
        inputs = [scope.value(name, place) if name else None for name in proto.input]
        for one in inputs:
            if one is not None:
                self._finisher.keep(one)  # an initializer that is read the first time

        def branch(graph: onnx.GraphProto, given: Sequence[Expr]) -> list[Expr]:
            return self._branch(graph, given, scope, node)

        node = OnnxNode(
            proto,
            place=place,
            source=self._source,
            opset=scope.opsets.get(domain_of(proto), 0),
            inputs=inputs,
            types=self._types,
            values=self._values,
            branch=branch,
            open_error=lambda text: self._settings.open_error(text, self._model),
            names_read=scope.read,
        )
        self._converted += 1
        if self._converted > _MOST_NODES + len(self._graph.node):
            raise node.refusal(
                f"expected bodies and loops to expand to at most {_MOST_NODES} nodes, "
                "got more"
            )
        name = operator_name(proto)
        known = name not in self._model.functions and name in CONVERTERS
        convert = self._by_converter if known else self._by_body
        for output, result in zip(proto.output, convert(node, scope), strict=False):
            if output and result is not None:
                self._define(scope, output, result, place)

    def _define(self, scope: Scope, name: str, value: Expr, place: str) -> None:
        scope.define(name, value, place)
        self._finisher.keep(value)

    def _by_converter(self, node: OnnxNode, scope: Scope) -> list[Expr]:
        try:
            converted = CONVERTERS[operator_name(node.proto)](node)
            node.check_all_read()
            several = isinstance(converted, TupleWrapper)
            results = [
                self._finisher.finished(result)
                for result in (converted if several else (converted,))
            ]
            for result in results:
                self._types.type_of(result)
        except FrontendError:
            raise
        except MemoryError as error:
            raise node.refusal(
                "its result does not fit in memory; are its sizes intended?"
            ) from error
        except Exception as error:
            raise self._refusal(node, error) from error
        count, given_out = len(results), node.proto.output
        more = [name for name in given_out[count:] if name and name in scope.read]
        if more:
            first = "its first output is" if count == 1 else f"{count} outputs are"
            raise node.refusal(f"only {first} supported, not '{more[0]}'")
        return results

    def _refusal(self, node: OnnxNode, error: Exception) -> FrontendError:
        """Return the error of a node, which is the model's if ONNX's rules say so."""
        wrong = complaint(schema_of(node.proto, node.opset), node.proto, node.types())
        text = str(error)
        if not isinstance(error, IRError):
            text = wrong or f"it cannot be imported: {type(error).__name__}: {error}"
        return node.fault(text) if wrong else node.refusal(text)

    def _branch(
        self,
        graph: onnx.GraphProto,
        inputs: Sequence[Expr],
        scope: Scope,
        node: OnnxNode,
    ) -> list[Expr]:
        """Convert a graph inside of a node, which sees the names around it."""
        inner, place = self._scope(graph, scope), node.place
        nodes = [one for read in node.graphs for one in read.node]
        self._check_supported(nodes, scope.opsets)
        if len(graph.input) != len(inputs):
            raise node.fault(
                f"expected a graph of {len(inputs)} inputs, got {len(graph.input)}"
            )
        for given, value in zip(graph.input, inputs, strict=True):
            self._define(inner, given.name, value, place)
        for proto in graph.node:
            self._convert(proto, inner, f"{place}: {title(proto)}")
        return inner.results(place)

    def _check_supported(
        self, nodes: Iterable[onnx.NodeProto], opsets: Mapping[str, int]
    ) -> None:
        functions = self._model.functions
        unknown = unsupported(nodes, functions, opsets, branches=False)
        if unknown:
            raise UnsupportedOpsError(dict(unknown), source=self._source)

    def _by_body(self, node: OnnxNode, scope: Scope) -> Sequence[Expr | None]:
        """Convert the nodes that the operator of a node stands for."""
        proto, place = node.proto, node.place
        name = operator_name(proto)
        schema = None
        function = self._model.functions.get(name)
        if function is None:
            schema = schema_of(proto, node.opset)
            try:
                if schema is not None:
                    opset = scope.opsets.get("", 0)
                    function = body_of(schema, proto, opset, node.types())
            except Exception as error:
                raise self._refusal(node, error) from error
            if function is None:
                raise node.refusal("ONNX does not say what it stands for here")
        nodes = bound(function.node, attributes_of(function, proto, schema))
        opsets = {**scope.opsets, **opsets_of(function.opset_import)}
        self._check_supported(nodes, opsets)
        inner = Scope(self._source, nodes, function.output, opsets)
        for at, given in enumerate(function.input):
            value = node.given[at] if at < len(node.given) else None
            inner.define(given, value, place)
        with self._inside(name, place):
            try:
                for one in nodes:
                    self._convert(one, inner, f"{place}: {title(one)}")
            except MalformedModelError as error:
                if schema is None:
                    raise
                # A body of ONNX's that does not fit is no fault of the model.
                raise FrontendError(error.args[0], source=self._source) from error
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
