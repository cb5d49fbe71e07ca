"""JSON format of expressions, types, attributes and modules.

The text is one table of nodes, each on a line of its own, children before parents:

    {"parpass": 2, "nodes": [
    {"relay.TensorType": {"shape": [2, 3], "dtype": "float32"}},
    {"relay.Var": {"name_hint": "x", "type_annotation": 0}},
    {"Op": "abs"},
    {"relay.Call": {"op": 2, "args": [1]}}
    ], "root": {"ref": 3}}

A kind is named by its class, qualified by the namespace of its IR; `relay.attrs` is
that of operators' attributes. Version 1 had no namespaces, and only Relay's kinds.

Sharing is preserved, loading is one pass without recursion, and equal types, spans,
attributes and arrays are in the table once. Equal programs give equal texts. A text is
data: loading executes nothing that it names.
"""

from parpass.ir.serialization.reader import load_json
from parpass.ir.serialization.schema import make_node
from parpass.ir.serialization.writer import save_json

__all__ = ["load_json", "make_node", "save_json"]
