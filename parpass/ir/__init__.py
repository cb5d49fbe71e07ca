"""TVM's `tvm.ir` names, and those of its function registry, from where they live."""

from parpass.diagnostic import Diagnostic, DiagnosticContext, DiagnosticLevel, Span
from parpass.instrument import PassInstrument, pass_instrument
from parpass.ir import diagnostics, instrument, transform
from parpass.relay.expr import GlobalVar
from parpass.relay.module import IRModule
from parpass.relay.op.op_attrs import register_op_attr
from parpass.relay.op.registry import Op
from parpass.relay.serialization import load_json, save_json
from parpass.relay.structural import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from parpass.relay.ty import FuncType, TensorType, TupleType, Type, TypeVar
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
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "FuncType",
    "GlobalVar",
    "IRModule",
    "ModulePass",
    "Op",
    "PackedFunc",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "Sequential",
    "Span",
    "TensorType",
    "TupleType",
    "Type",
    "TypeVar",
    "assert_structural_equal",
    "convert",
    "diagnostics",
    "get_global_func",
    "instrument",
    "list_global_func_names",
    "load_json",
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
