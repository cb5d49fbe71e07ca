"""The base of every IR here, and TVM's `tvm.ir` names, from where they live.

Nothing is loaded before it is asked for: those who build on the base import its modules
by their names, and workers go without what they do not use. Who asks for a name of
TVM's gets the IRs besides that the program has, so that texts and names of theirs are
known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names
from parpass.ir.declared import load_irs

if TYPE_CHECKING:
    from parpass.diagnostic import (
        Diagnostic,
        DiagnosticContext,
        DiagnosticLevel,
        SourceName,
        Span,
    )
    from parpass.instrument import PassInstrument, pass_instrument
    from parpass.ir import diagnostics, instrument, transform
    from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
    from parpass.ir.attrs import Attrs, DictAttrs
    from parpass.ir.module import IRModule
    from parpass.ir.node import Node
    from parpass.ir.operators.op_attrs import register_op_attr
    from parpass.ir.operators.op_table import Op
    from parpass.ir.relay_expr import BaseFunc, GlobalVar, RelayExpr
    from parpass.ir.serialization import load_json, make_node, save_json
    from parpass.ir.structure.structural import (
        assert_structural_equal,
        structural_equal,
        structural_hash,
    )
    from parpass.ir.type_constraint import (
        EnvFunc,
        TypeConstraint,
        TypeRelation,
    )
    from parpass.ir.types.prim_ty import PointerType, PrimType
    from parpass.ir.types.ty import (
        FuncType,
        IncompleteType,
        RelayRefType,
        TensorType,
        TupleType,
        Type,
        TypeKind,
        TypeVar,
    )
    from parpass.runtime.registry import (
        PackedFunc,
        convert,
        get_global_func,
        list_global_func_names,
        register_func,
        remove_global_func,
    )
    from parpass.transform import (
        ModulePass,
        Pass,
        PassContext,
        PassInfo,
        Sequential,
        module_pass,
    )

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
    "BaseFunc": "parpass.ir.relay_expr",
    "Constructor": "parpass.ir.adt",
    "Diagnostic": "parpass.diagnostic",
    "DiagnosticContext": "parpass.diagnostic",
    "DiagnosticLevel": "parpass.diagnostic",
    "DictAttrs": "parpass.ir.attrs",
    "EnvFunc": "parpass.ir.type_constraint",
    "FuncType": "parpass.ir.types.ty",
    "GlobalTypeVar": "parpass.ir.adt",
    "GlobalVar": "parpass.ir.relay_expr",
    "IRModule": "parpass.ir.module",
    "IncompleteType": "parpass.ir.types.ty",
    "ModulePass": "parpass.transform",
    "Node": "parpass.ir.node",
    "Op": "parpass.ir.operators.op_table",
    "PackedFunc": "parpass.runtime.registry",
    "Pass": "parpass.transform",
    "PassContext": "parpass.transform",
    "PassInfo": "parpass.transform",
    "PassInstrument": "parpass.instrument",
    "PointerType": "parpass.ir.types.prim_ty",
    "PrimType": "parpass.ir.types.prim_ty",
    "PrimExpr": "parpass.tir",  # above, so by name alone; as TVM's
    "Range": "parpass.tir",
    "RelayExpr": "parpass.ir.relay_expr",
    "RelayRefType": "parpass.ir.types.ty",
    "Sequential": "parpass.transform",
    "SourceName": "parpass.diagnostic",
    "Span": "parpass.diagnostic",
    "TensorType": "parpass.ir.types.ty",
    "TupleType": "parpass.ir.types.ty",
    "Type": "parpass.ir.types.ty",
    "TypeCall": "parpass.ir.adt",
    "TypeConstraint": "parpass.ir.type_constraint",
    "TypeData": "parpass.ir.adt",
    "TypeKind": "parpass.ir.types.ty",
    "TypeRelation": "parpass.ir.type_constraint",
    "TypeVar": "parpass.ir.types.ty",
    "assert_structural_equal": "parpass.ir.structure.structural",
    "convert": "parpass.runtime.registry",
    "get_global_func": "parpass.runtime.registry",
    "list_global_func_names": "parpass.runtime.registry",
    "load_json": "parpass.ir.serialization",
    "make_node": "parpass.ir.serialization",
    "module_pass": "parpass.transform",
    "pass_instrument": "parpass.instrument",
    "register_func": "parpass.runtime.registry",
    "register_op_attr": "parpass.ir.operators.op_attrs",
    "remove_global_func": "parpass.runtime.registry",
    "save_json": "parpass.ir.serialization",
    "structural_equal": "parpass.ir.structure.structural",
    "structural_hash": "parpass.ir.structure.structural",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME, rooms=_ROOMS, before=load_irs)
