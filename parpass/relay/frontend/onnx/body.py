"""Operators defined by other operators, in the model or by ONNX; and support checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from parpass.ir.types import TensorType
from parpass.relay.frontend.onnx.model import (
    domain_of,
    graphs_of,
    operator_name,
    opsets_of,
)
from parpass.relay.frontend.onnx.operators import CONVERTERS

Attributes = Mapping[str, AttributeProto]


def schema_of(node: NodeProto, opset: int) -> defs.OpSchema | None:
    """Return what ONNX says of a node's operator; None if it knows no such operator."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return defs.get_schema(node.op_type, opset, domain)
    except defs.SchemaError:
        return None


def has_body(schema: defs.OpSchema) -> bool:
    """Return whether ONNX defines an operator by others, in some cases at least."""
    found = cast("Any", schema)  # onnx's annotations know less than it has
    return bool(found.has_function or found.has_context_dependent_function)


def body_of(
    schema: defs.OpSchema,
    node: NodeProto,
    opset: int,
    types: Sequence[TensorType | None],
) -> FunctionProto | None:
    """Return the body of a node's operator, expanded for the types of its inputs.

    Args:
        schema: The operator's schema in ONNX.
        node: The node.
        opset: The version of ONNX's own operators that the body may use.
        types: The types of the node's inputs; None for one that is left out.

    Raises:
        ValueError: ONNX has no body for these types.
    """
    found = cast("Any", schema)
    if found.has_function:
        version = _newest(found.function_opset_versions, opset)
        text = found.get_function_with_opset_version(version)
    else:
        # Bodies that ONNX writes anew for later versions mean the same.
        version = _newest(found.context_dependent_function_opset_versions, opset)
        protos = [
            (TypeProto() if one is None else _type_proto(one)).SerializeToString()
            for one in types
        ]
        text = found.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), protos
        )
    return FunctionProto.FromString(text) if text else None


def _newest(versions: Sequence[int], opset: int) -> int:
    return max((one for one in versions if one <= opset), default=min(versions))


def attributes_of(
    function: FunctionProto, node: NodeProto, schema: defs.OpSchema | None = None
) -> dict[str, AttributeProto]:
    """Return the attributes that a function's body sees, with their defaults."""
    found: dict[str, AttributeProto] = {}
    if schema is not None:
        defaults = {name: one.default_value for name, one in schema.attributes.items()}
        found |= {name: one for name, one in defaults.items() if one.name}
    found |= {one.name: one for one in function.attribute_proto}
    return found | {one.name: one for one in node.attribute}


def bound(nodes: Iterable[NodeProto], given: Attributes) -> list[NodeProto]:
    """Return nodes whose attributes are given, not named by what they refer to.

    One that refers to an attribute that is not given is left out.
    """
    found: list[NodeProto] = []
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        del copy.attribute[:]
        for attribute in node.attribute:
            value = _given(attribute, given)
            if value is not None:
                copy.attribute.append(value)
        found.append(copy)
    return found


def _given(attribute: AttributeProto, given: Attributes) -> AttributeProto | None:
    copy = AttributeProto()
    if attribute.ref_attr_name:
        if attribute.ref_attr_name not in given:
            return None
        copy.CopyFrom(given[attribute.ref_attr_name])
        copy.name = attribute.name
        return copy
    copy.CopyFrom(attribute)
    for graph in (*([copy.g] if copy.HasField("g") else []), *copy.graphs):
        inner = bound(graph.node, given)
        del graph.node[:]
        graph.node.extend(inner)
    return copy


def complaint(
    schema: defs.OpSchema | None, node: NodeProto, types: Sequence[TensorType | None]
) -> str:
    """Return what ONNX's own rules say against a node with inputs of these types.

    Nothing if they accept it; what it has no rule for is accepted.
    """
    if schema is None:
        return ""
    count = max((at for at, one in enumerate(node.input, 1) if one), default=0)
    if not schema.min_input <= count <= schema.max_input:
        bounds = f"{schema.min_input} to {schema.max_input}"
        return f"expected {bounds} inputs, got {count}"
    pairs = zip(node.input, types, strict=True)
    given = {name: _type_proto(one) for name, one in pairs if one is not None}
    try:
        onnx.shape_inference.infer_node_outputs(schema, node, given)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return _CODE.sub("", str(error)).strip().rstrip(".") or "ONNX refuses it"
    return ""


_CODE = re.compile(r"^(\[\w+\])?\s*(\(op_type:.*?\):)?\s*")


def _type_proto(tensor: TensorType) -> onnx.TypeProto:
    """Return a tensor's type as ONNX writes it; a dimension may be unknown."""
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
    shape = [dim if isinstance(dim, int) else None for dim in tensor.shape]
    return onnx.helper.make_tensor_type_proto(code, shape)


Functions = Mapping[str, onnx.FunctionProto]


def unsupported(
    nodes: Iterable[onnx.NodeProto],
    functions: Functions,
    opsets: Mapping[str, int],
    *,
    branches: bool = True,
) -> Counter[str]:
    """Count the operators that have neither a converter nor a body.

    Those of the graphs inside of nodes count, and those in the bodies of the model's
    functions that are used, once each. The operators in ONNX's own bodies are known
    only with the types of their inputs.

    Args:
        nodes: The nodes of a graph.
        functions: The model's own operators.
        opsets: The versions of the operators by domain.
        branches: Whether those in the branches of an `If` count, of which one may be
            left out.
    """
    counts: Counter[str] = Counter()
    waiting = [(node, opsets) for node in nodes]
    entered = set[str]()
    while waiting:
        node, versions = waiting.pop()
        name = operator_name(node)
        for graph in graphs_of(node) if branches or name != "If" else ():
            waiting += [(inner, versions) for inner in graph.node]
        function = functions.get(name)
        if function is None:
            counts[name] += not _is_known(node, name, versions)
        elif name not in entered:
            entered.add(name)
            own = {**versions, **opsets_of(function.opset_import)}
            waiting += [(inner, own) for inner in function.node]
    return +counts


def _is_known(node: onnx.NodeProto, name: str, opsets: Mapping[str, int]) -> bool:
    if name in CONVERTERS:
        return True
    schema = schema_of(node, opsets.get(domain_of(node), 0))
    return schema is not None and has_body(schema)
