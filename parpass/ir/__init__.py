"""Base classes that all IRs share, and the names of TVM's `tvm.ir`.

Names are imported lazily: IRs import the modules of this package directly, and workers
load only what they use. A lookup of one of TVM's names also loads the program's
dialects, so that their texts and operators are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.dialect import declare_dialect, load_dialects
from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.diagnostic import (
        Diagnostic,
        DiagnosticContext,
        DiagnosticLevel,
        SourceName,
        Span,
    )
    from parpass.function_registry import (
        PackedFunc,
        convert,
        get_global_func,
        list_global_func_names,
        register_func,
        remove_global_func,
    )
    from parpass.instrument import PassInstrument, pass_instrument
    from parpass.ir import diagnostics, instrument, transform
    from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
    from parpass.ir.attrs import Attrs, DictAttrs
    from parpass.ir.module import IRModule
    from parpass.ir.node import Node
    from parpass.ir.op_registration import register_op_attr
    from parpass.ir.op_table import Op
    from parpass.ir.serialization import load_json, make_node, save_json
    from parpass.ir.structural import (
        assert_structural_equal,
        structural_equal,
        structural_hash,
    )
    from parpass.ir.type_relation import EnvFunc, TypeConstraint, TypeRelation
    from parpass.ir.typed_expr import BaseFunc, GlobalVar, RelayExpr
    from parpass.ir.types import (
        FuncType,
        IncompleteType,
        PointerType,
        PrimType,
        RelayRefType,
        TensorType,
        TupleType,
        Type,
        TypeKind,
        TypeVar,
    )
    from parpass.transform import (
        ModulePass,
        Pass,
        PassContext,
        PassInfo,
        Sequential,
        module_pass,
    )

declare_dialect("parpass.relay.op")
declare_dialect("parpass.tir", prefix="tir.")

__all__ = [
    "Attrs",
    "BaseFunc",
    "Constructor",
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DictAttrs",
    "EnvFunc",
    "FuncType",
    "GlobalTypeVar",
    "GlobalVar",
    "IRModule",
    "IncompleteType",
    "ModulePass",
    "Node",
    "Op",
    "PackedFunc",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PointerType",
    "PrimType",
    "RelayExpr",
    "RelayRefType",
    "Sequential",
    "SourceName",
    "Span",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "assert_structural_equal",
    "convert",
    "diagnostics",
    "get_global_func",
    "instrument",
    "list_global_func_names",
    "load_json",
    "make_node",
    "module_pass",
    "pass_instrument",
    "register_func",
    "register_op_attr",
    "remove_global_func",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]

_ROOMS = {
    name: f"parpass.ir.{name}" for name in ("diagnostics", "instrument", "transform")
}
_ROOMS["expr"] = __name__  # whose names are a part of this package's

_HOME = {
    "Attrs": "parpass.ir.attrs",
    "BaseFunc": "parpass.ir.typed_expr",
    "Constructor": "parpass.ir.adt",
    "Diagnostic": "parpass.diagnostic",
    "DiagnosticContext": "parpass.diagnostic",
    "DiagnosticLevel": "parpass.diagnostic",
    "DictAttrs": "parpass.ir.attrs",
    "EnvFunc": "parpass.ir.type_relation",
    "FuncType": "parpass.ir.types",
    "GlobalTypeVar": "parpass.ir.adt",
    "GlobalVar": "parpass.ir.typed_expr",
    "IRModule": "parpass.ir.module",
    "IncompleteType": "parpass.ir.types",
    "ModulePass": "parpass.transform",
    "Node": "parpass.ir.node",
    "Op": "parpass.ir.op_table",
    "PackedFunc": "parpass.function_registry",
    "Pass": "parpass.transform",
    "PassContext": "parpass.transform",
    "PassInfo": "parpass.transform",
    "PassInstrument": "parpass.instrument",
    "PointerType": "parpass.ir.types",
    "PrimType": "parpass.ir.types",
    "PrimExpr": "parpass.tir",  # above, so by name alone; as TVM's
    "Range": "parpass.tir",
    "RelayExpr": "parpass.ir.typed_expr",
    "RelayRefType": "parpass.ir.types",
    "Sequential": "parpass.transform",
    "SourceName": "parpass.diagnostic",
    "Span": "parpass.diagnostic",
    "TensorType": "parpass.ir.types",
    "TupleType": "parpass.ir.types",
    "Type": "parpass.ir.types",
    "TypeCall": "parpass.ir.adt",
    "TypeConstraint": "parpass.ir.type_relation",
    "TypeData": "parpass.ir.adt",
    "TypeKind": "parpass.ir.types",
    "TypeRelation": "parpass.ir.type_relation",
    "TypeVar": "parpass.ir.types",
    "assert_structural_equal": "parpass.ir.structural",
    "convert": "parpass.function_registry",
    "get_global_func": "parpass.function_registry",
    "list_global_func_names": "parpass.function_registry",
    "load_json": "parpass.ir.serialization",
    "make_node": "parpass.ir.serialization",
    "module_pass": "parpass.transform",
    "pass_instrument": "parpass.instrument",
    "register_func": "parpass.function_registry",
    "register_op_attr": "parpass.ir.op_registration",
    "remove_global_func": "parpass.function_registry",
    "save_json": "parpass.ir.serialization",
    "structural_equal": "parpass.ir.structural",
    "structural_hash": "parpass.ir.structural",
}

__getattr__, __dir__ = attach_lazy(
    __name__, _HOME, submodules=_ROOMS, before_lookup=load_dialects
)
