"""Base classes that all IRs share, and the names of TVM's `tvm.ir`.

Names load lazily: IRs import the modules of this package directly, and workers load
only what they use. Looking up one of TVM's names also loads the program's dialects, so
that their texts and operators are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.dialect import declare_dialect, load_dialects
from parpass.lazy_loader import attach_lazy, defining_modules
from parpass.tvm_paths import attach_tvm_paths

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
    from parpass.ir.base_func import BaseFunc
    from parpass.ir.global_var import GlobalVar
    from parpass.ir.module import IRModule
    from parpass.ir.node import Node
    from parpass.ir.op.op_registration import register_op_attr
    from parpass.ir.op.op_table import Op
    from parpass.ir.op.type_relation import EnvFunc, TypeConstraint, TypeRelation
    from parpass.ir.relay_expr import RelayExpr
    from parpass.ir.serialization import load_json, make_node, save_json
    from parpass.ir.structural import (
        assert_structural_equal,
        structural_equal,
        structural_hash,
    )
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

_SUBMODULES = {
    name: f"parpass.ir.{name}" for name in ("diagnostics", "instrument", "transform")
}

_DEFINING_MODULES = defining_modules(
    {
        "ir.attrs": "Attrs DictAttrs",
        "ir.base_func": "BaseFunc",
        "ir.adt": "Constructor GlobalTypeVar TypeCall TypeData",
        "diagnostic": "Diagnostic DiagnosticContext DiagnosticLevel SourceName Span",
        "ir.op.type_relation": "EnvFunc TypeConstraint TypeRelation",
        "ir.types": """
            FuncType IncompleteType PointerType PrimType RelayRefType TensorType
            TupleType Type TypeKind TypeVar""",
        "ir.global_var": "GlobalVar",
        "ir.module": "IRModule",
        "transform": "ModulePass Pass PassContext PassInfo Sequential module_pass",
        "ir.node": "Node",
        "ir.op.op_table": "Op",
        "function_registry": """
            PackedFunc convert get_global_func list_global_func_names register_func
            remove_global_func""",
        "instrument": "PassInstrument pass_instrument",
        "ir.relay_expr": "RelayExpr",
        "tir": "PrimExpr Range",  # above, so by name alone; as TVM's
        "ir.structural": "assert_structural_equal structural_equal structural_hash",
        "ir.serialization": "load_json make_node save_json",
        "ir.op.op_registration": "register_op_attr",
    }
)

__getattr__, __dir__ = attach_lazy(
    __name__, _DEFINING_MODULES, submodules=_SUBMODULES, before_lookup=load_dialects
)

attach_tvm_paths(__name__)
