"""One ONNX graph becomes one function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from parpass.errors import FrontendError, IRError, MalformedModelError
from parpass.relay.expr import Expr, Function, Tuple, TupleWrapper, Var, const
from parpass.relay.frontend.onnx.model import Model, operator_name
from parpass.relay.frontend.onnx.node import Node, array_of, dtype_of
from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.relay.frontend.onnx.origin import SpanMarker, listing_line, span_of, title
from parpass.relay.frontend.onnx.types import TypeOf
from parpass.relay.ty import TensorType


@dataclass(frozen=True, slots=True)
class ParameterTypes:
    """What the caller says about the inputs of the models.

    Attributes:
        shapes: Shapes by the inputs' names; they win over the model's.
        dtypes: The dtype of inputs for which the model gives none, or dtypes by name.
    """

    shapes: Mapping[str, Sequence[int]]
    dtypes: str | Mapping[str, str]


class GraphImporter:
    """Converts the nodes of a graph in their order, which is that of the data flow.

    Args:
        model: The model; its operators are all in the table.
        types: What the caller says about the inputs.
    """

    def __init__(self, model: Model, types: ParameterTypes) -> None:
        self._source = model.source
        self._graph = model.proto.graph
        self._opset = model.opset
        self._declared = types
        self._types = TypeOf()
        self._spans = SpanMarker()
        self._values: dict[str, Expr] = {}
        self._initializers = {one.name: one for one in self._graph.initializer}
        self._read = {name for node in self._graph.node for name in node.input}
        self._read |= {output.name for output in self._graph.output}

    def function(self) -> Function:
        """Return the function of the graph.

        Raises:
            MalformedModelError: The graph is inconsistent.
            FrontendError: It does something that is not supported.
        """
        self._check_initializers()
        params = tuple(
            self._parameter(given)
            for given in self._graph.input
            if given.name not in self._initializers
        )
        for index, proto in enumerate(self._graph.node):
            self._convert(index, proto)
        outputs = self._graph.output
        results = tuple(self._value(one.name, self._source) for one in outputs)
        return Function(params, results[0] if len(results) == 1 else Tuple(results))

    def listing(self) -> str:
        """Return the graph as text, a line for each node, for diagnostics to show."""
        return "\n".join(listing_line(node) for node in self._graph.node)

    def _check_initializers(self) -> None:
        if self._graph.sparse_initializer:
            raise FrontendError(
                f"{self._source}: sparse initializers are not supported",
                source=self._source,
            )

    def _parameter(self, given: onnx.ValueInfoProto) -> Var:
        kind = given.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise FrontendError(
                f"{self._source}: expected a tensor for input '{given.name}', got "
                f"a {str(kind).removesuffix('_type')}",
                source=self._source,
            )
        annotation = TensorType(self._shape_of(given), self._dtype_of(given))
        hint = re.sub(r"\W+", "_", given.name, flags=re.ASCII)
        param = Var(f"v{hint}" if hint[:1].isdigit() else hint, annotation)
        self._define(given.name, param, self._source)
        return param

    def _shape_of(self, given: onnx.ValueInfoProto) -> tuple[int, ...]:
        if given.name in self._declared.shapes:
            return tuple(self._declared.shapes[given.name])
        tensor = given.type.tensor_type
        dims = [
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
            for dim in tensor.shape.dim
        ]
        sizes = [dim for dim in dims if isinstance(dim, int) and dim >= 0]
        if not tensor.HasField("shape") or len(sizes) != len(dims):
            written = f"the shape {tuple(dims)}" if dims else "no shape"
            raise FrontendError(
                f"{self._source}: input '{given.name}' has {written} in the model; "
                f"give a static one: shape={{'{given.name}': (...)}}",
                source=self._source,
            )
        return tuple(sizes)

    def _dtype_of(self, given: onnx.ValueInfoProto) -> str:
        code = given.type.tensor_type.elem_type
        if code == onnx.TensorProto.UNDEFINED:
            dtypes = self._declared.dtypes
            return (
                dtypes if isinstance(dtypes, str) else dtypes.get(given.name, "float32")
            )
        dtype = dtype_of(code)
        if dtype is None:
            raise FrontendError(
                f"{self._source}: input '{given.name}' has element type {code}, which "
                "is not a number's",
                source=self._source,
            )
        return dtype

    def _convert(self, index: int, proto: onnx.NodeProto) -> None:
        place = f"{self._source}: node {index + 1} ({title(proto)})"
        node = Node(
            proto,
            place=place,
            source=self._source,
            opset=self._opset,
            inputs=[self._value(n, place) if n else None for n in proto.input],
            types=self._types,
        )
        try:
            converted = CONVERTERS[operator_name(proto)](node)
            node.check_all_read()
            several = isinstance(converted, TupleWrapper)
            span = span_of(proto, index, self._source)
            results = [
                self._spans.mark(result, span)
                for result in (converted if several else (converted,))
            ]
            for result in results:
                self._types.visit(result)
        except IRError as error:
            message = f"{place}: {error}"
            raise MalformedModelError(message, source=self._source) from error
        except MemoryError as error:
            raise FrontendError(
                f"{place}: what it makes has no room in memory; are its sizes meant?",
                source=self._source,
            ) from error
        count = len(results)
        more = [name for name in proto.output[count:] if name and name in self._read]
        if more:
            first = "its first output is" if count == 1 else f"{count} outputs are"
            raise node.refusal(f"only {first} supported, not '{more[0]}'")
        for name, result in zip(proto.output, results, strict=False):
            if name:
                self._define(name, result, place)

    def _define(self, name: str, value: Expr, place: str) -> None:
        if name in self._values or name in self._initializers:
            raise MalformedModelError(
                f"{place}: '{name}' is defined twice", source=self._source
            )
        self._values[name] = value
        self._spans.keep(value)

    def _value(self, name: str, place: str) -> Expr:
        known = self._values.get(name)
        if known is None and name in self._initializers:
            tensor = self._initializers[name]
            known = const(array_of(tensor, place, self._source))
            self._values[name] = known
            self._spans.keep(known)
        if known is None:
            later = any(name in node.output for node in self._graph.node)
            what = "that only a later node defines" if later else "that nothing defines"
            raise MalformedModelError(
                f"{place}: it reads '{name}', {what}", source=self._source
            )
        return known
