"""TVM's paths of names that have another place here, such as `relay.expr_functor`.

The package above a path makes a module of it, as `os` makes `os.path`: it enters it in
`sys.modules`, and as its own attribute. So `import`, `from`, `importlib` and pickle
find it, and Python's import system stays as it is. Names load when asked for.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from parpass.lazy_loader import attach_lazy, defining_modules, load_module

# TVM's path: its names, by the module that has them here; a star is all it has. What is
# a star alone is that module itself, loaded with the package above.
TVM_PATHS = {
    "arith": {"tir.arith": "Analyzer"},
    "arith.analyzer": {"tir.arith": "Analyzer"},
    "contrib.graph_executor": {"runtime.graph_executor": "*"},
    "error": {"errors": "TVMError *"},
    "ir.base": {
        "ir": """
            EnvFunc Node SourceName Span assert_structural_equal load_json save_json
            structural_equal structural_hash"""
    },
    "ir.expr": {"ir": "GlobalVar PrimExpr Range RelayExpr"},
    "ir.function": {"ir": "BaseFunc"},
    "ir.tensor_type": {"ir": "TensorType"},
    "ir.type": {
        "ir": """
            FuncType GlobalTypeVar IncompleteType PointerType PrimType RelayRefType
            TupleType Type TypeConstraint TypeKind TypeVar"""
    },
    "ir.type_relation": {"ir": "TypeCall TypeRelation"},
    "parser": {"relay.tvm_names.parser": "fromtext parse parse_expr"},
    "relay.backend.interpreter": {
        "relay.interpreter.interpreter": "Executor",
        "relay.interpreter.values": "ConstructorValue RefValue",
    },
    "relay.base": {"ir": "SourceName Span"},
    "relay.expr_functor": {"relay.functor": "ExprFunctor ExprMutator ExprVisitor"},
    "relay.function": {"relay.expr": "Function"},
    "relay.loops": {"relay.scope_builder": "while_loop"},
    "relay.op.op": {
        "relay.op": """
            OpPattern debug get register register_alter_op_layout
            register_convert_op_layout register_gradient register_infer_correct_layout
            register_pattern register_stateful"""
    },
    "relay.param_dict": {"runtime.params": "load_param_dict save_param_dict"},
    "relay.testing.temp_op_attr": {"ir.op.op_registration": "TempOpAttr"},
    "relay.transform.infer_layout_utils": {
        "relay.transform.layout.layout_rules": "InferCorrectLayoutOutput"
    },
    "relay.ty": {
        "ir": """
            FuncType GlobalTypeVar IncompleteType PrimType RelayRefType TensorType
            TupleType Type TypeCall TypeConstraint TypeKind TypeRelation TypeVar""",
        "ir.types": "Any scalar_type",
    },
    "relay.type_functor": {"ir.type_functor": "TypeFunctor TypeMutator TypeVisitor"},
    "runtime.module": {
        "runtime.compiled_module": "Module load_module",
        "runtime.time_evaluator": "BenchmarkResult",
    },
    "runtime.object_generic": {"function_registry": "convert"},
    "runtime.packed_func": {"function_registry": "PackedFunc"},
    "te.tensor": {
        "te.operation": "ComputeOp PlaceholderOp",
        "tir.expr": "Tensor TensorSlice",
    },
    "tir.buffer": {"tir.expr": "Buffer decl_buffer"},
}


def attach_tvm_paths(package: str) -> None:
    """Make a module of each of TVM's paths that are just below a package.

    The package calls this while it is imported.
    """
    for path, names in TVM_PATHS.items():
        name = f"parpass.{path}"
        above, _, last = name.rpartition(".")
        if above == package:
            module = sys.modules[name] = _module(name, names)
            setattr(sys.modules[package], last, module)
            attach_tvm_paths(name)


def _module(name: str, names: dict[str, str]) -> ModuleType:
    modules = defining_modules(names)
    has_all_of = modules.pop("*", "")
    if has_all_of and not modules:
        return load_module(has_all_of)
    module = ModuleType(name, "TVM's path of names that have another place here.")
    module.__spec__ = ModuleSpec(name, None, origin=__file__)
    variables = vars(module)
    if not has_all_of:
        variables["__all__"] = sorted(modules)
    hooks = attach_lazy(name, modules, reexport_from=has_all_of)
    variables["__getattr__"], variables["__dir__"] = hooks
    return module
