"""The bundled network IR: Relay in pure Python, under the names of `tvm.relay`.

Nodes, types and functors load at once; operators, analyses, passes, frontends and the
interpreter load on first use. Every operator has a builder of the same name:
`relay.add(x, y)`, `relay.nn.relu(x)`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parpass.diagnostic import SourceName, Span
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
from parpass.ir.op.type_relation import TypeConstraint, TypeRelation
from parpass.ir.type_functor import TypeFunctor, TypeMutator, TypeVisitor
from parpass.ir.types import (
    Any,
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeKind,
    TypeVar,
    scalar_type,
)
from parpass.lazy_loader import attach_lazy, defining_modules
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.binding import bind
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    const,
    var,
)
from parpass.relay.functor import (
    ExprFunctor,
    ExprMutator,
    ExprVisitor,
    post_order_rewrite,
)
from parpass.relay.scope_builder import ScopeBuilder
from parpass.tvm_paths import attach_tvm_paths

RefType = RelayRefType  # as TVM calls it here

if TYPE_CHECKING:
    from parpass.ir.module import Module
    from parpass.relay import (
        adt,
        analysis,
        backend,
        build_module,
        dataflow_pattern,
        frontend,
        op,
        prelude,
        scope_builder,
        testing,
        transform,
    )
    from parpass.relay.build_module import (
        build,
        build_all,
        build_async,
        build_config,
        optimize,
    )
    from parpass.relay.interpreter.interpreter import create_executor
    from parpass.relay.op import *  # noqa: F403 -- the builders, found by __getattr__
    from parpass.relay.op import nn
    from parpass.relay.prelude import Prelude
    from parpass.relay.text.parser import fromtext, parse, parse_expr
    from parpass.relay.text.printer import astext
    from parpass.relay.tvm_names import ir_pass
    from parpass.runtime.params import load_param_dict, save_param_dict

__all__: list[str] = [
    "Any",
    "Call",
    "Clause",
    "Constant",
    "Constructor",
    "Expr",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "FuncType",
    "Function",
    "GlobalTypeVar",
    "GlobalVar",
    "If",
    "IncompleteType",
    "Let",
    "Match",
    "Module",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "Prelude",
    "RefCreate",
    "RefRead",
    "RefType",
    "RefWrite",
    "ScopeBuilder",
    "SourceName",
    "Span",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "TupleWrapper",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeFunctor",
    "TypeKind",
    "TypeMutator",
    "TypeRelation",
    "TypeVar",
    "TypeVisitor",
    "Var",
    "adt",
    "analysis",
    "astext",
    "backend",
    "bind",
    "build",
    "build_all",
    "build_async",
    "build_config",
    "build_module",
    "const",
    "create_executor",
    "dataflow_pattern",
    "fromtext",
    "frontend",
    "ir_pass",
    "load_param_dict",
    "nn",
    "op",
    "optimize",
    "parse",
    "parse_expr",
    "post_order_rewrite",
    "prelude",
    "save_param_dict",
    "scalar_type",
    "scope_builder",
    "testing",
    "transform",
    "var",
]

if TYPE_CHECKING:  # they are public here, too; loaded when one is asked for
    __all__ += op.__all__

_SUBMODULES = {
    "backend": "parpass.relay.backend",
    "_transform": "parpass.relay.tvm_names._transform",
    "adt": "parpass.relay.adt",
    "analysis": "parpass.relay.analysis",
    "build_module": "parpass.relay.build_module",
    "dataflow_pattern": "parpass.relay.dataflow_pattern",
    "frontend": "parpass.relay.frontend",
    "ir_pass": "parpass.relay.tvm_names.ir_pass",
    "nn": "parpass.relay.op.nn",
    "op": "parpass.relay.op",
    "prelude": "parpass.relay.prelude",
    "scope_builder": "parpass.relay.scope_builder",
    "testing": "parpass.relay.testing",
    "transform": "parpass.relay.transform",
}

_DEFINING_MODULES = defining_modules(
    {
        "relay.prelude": "Prelude",
        "ir.module": "Module",
        "relay.text.printer": "astext",
        "relay.build_module": "build build_all build_async build_config optimize",
        "relay.interpreter.interpreter": "create_executor",
        "relay.text.parser": "fromtext parse parse_expr",
        "runtime.params": "load_param_dict save_param_dict",
    }
)

__getattr__, __dir__ = attach_lazy(
    __name__,
    _DEFINING_MODULES,
    submodules=_SUBMODULES,
    reexport_from="parpass.relay.op",
)

importlib.import_module("parpass.relay.plugin")  # dialect, formats, wrapping, options
importlib.import_module("parpass.ir.module_adapter")  # makes passes run on IRModules
importlib.import_module("parpass.ir.tir_config")  # declares the options of loop passes

attach_tvm_paths(__name__)
