"""Programs as tables of objects, which are written as JSON or for a store on disk.

A table has a row for each object, children before parents: a node, a type, a span, an
array. There is one writer of tables (`table_writer`), one reader (`table_reader`), and
one schema (`schema`); what they read is data, and executes nothing that it names.
What goes between processes has another form, `parpass.ir.wire`.

* JSON (`json_writer`, `json_reader`) is for people and other tools. Each row is a line:

      {"parpass": 3, "nodes": [
      {"relay.TensorType": {"shape": [2, 3], "dtype": "float32"}},
      {"relay.Var": {"name_hint": "x", "type_annotation": 0}},
      {"Op": "abs"},
      {"relay.Call": {"op": 2, "args": [1]}}
      ], "root": {"ref": 3}}

  A kind is named by its class, qualified by the namespace of its IR; `relay.attrs` is
  that of operators' attributes. Version 1 had no namespaces, and only Relay's kinds;
  version 2 had other classes of attributes, such as one for resizing in any rank.

* The store's form (`store_codec`, `store_records`) is for functions in a cache on disk:
  rows are numbers, and what many rows have in common is written once.

Sharing is preserved, reading is one pass without recursion, and equal types, spans,
attributes and arrays are in the table once. Equal programs give equal texts, and equal
bytes.
"""

from parpass.ir.serialization.json_reader import load_json
from parpass.ir.serialization.json_writer import save_json
from parpass.ir.serialization.schema import make_node

__all__ = ["load_json", "make_node", "save_json"]
