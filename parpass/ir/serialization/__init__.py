"""Any expression, type, attributes or module as JSON text, and back.

The text is one table of nodes, each on a line of its own, children before parents:

    {"parpass": 2, "nodes": [
    {"relay.TensorType": {"shape": [2, 3], "dtype": "float32"}},
    {"relay.Var": {"name_hint": "x", "type_annotation": 0}},
    {"Op": "abs"},
    {"relay.Call": {"op": 2, "args": [1]}}
    ], "root": {"ref": 3}}

Kinds have the names of their classes in the namespace of their IR, `relay.attrs` being
that of operators' attributes. In version 1 they had none, and were Relay's.

What is shared stays shared, loading is one pass without recursion, and equal types,
spans, attributes and arrays are in the table once. The same program gives the same
text. It is read as data: loading runs nothing that the text names.
"""

from parpass.ir.serialization.node_by_name import make_node
from parpass.ir.serialization.reader import load_json
from parpass.ir.serialization.writer import save_json

__all__ = ["load_json", "make_node", "save_json"]
