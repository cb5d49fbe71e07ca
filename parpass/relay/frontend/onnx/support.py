"""Which operators of a model can be converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import onnx

from parpass.relay.frontend.onnx.body import has_body, schema_of
from parpass.relay.frontend.onnx.model import (
    domain_of,
    graphs_of,
    operator_name,
    opsets_of,
)
from parpass.relay.frontend.onnx.operators import CONVERTERS

Functions = Mapping[str, onnx.FunctionProto]


def unsupported(
    nodes: Iterable[onnx.NodeProto], functions: Functions, opsets: Mapping[str, int]
) -> Counter[str]:
    """Count the operators that have neither a converter nor a body.

    Those of the graphs inside of nodes count, and those in the bodies of the model's
    functions that are used, once each. What ONNX's own bodies consist of is known only
    with the types of what they are given.

    Args:
        nodes: The nodes of a graph.
        functions: The model's own operators.
        opsets: The versions of the operators by domain.
    """
    counts: Counter[str] = Counter()
    waiting = [(node, opsets) for node in nodes]
    entered = set[str]()
    while waiting:
        node, versions = waiting.pop()
        name = operator_name(node)
        for graph in graphs_of(node):
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
