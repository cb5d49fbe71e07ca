"""Loop programs: functions that execute statements, under the names of `tvm.tir`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy
from parpass.tir import analysis, ir_builder, stmt_functor, transform
from parpass.tir.expr import (
    Any,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    CallEffectKind,
    Cast,
    CommReducer,
    EqualOp,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Load,
    Not,
    NotEqualOp,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Var,
    binary_op,
    const_true,
    decl_buffer,
)
from parpass.tir.expr.binary_op import *
from parpass.tir.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from parpass.tir.function import PrimFunc
from parpass.tir.op import (
    abs,
    all,
    any,
    comm_reducer,
    const,
    div,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    intrin,
    likely,
    max,
    max_value,
    min,
    min_value,
    reinterpret,
    sum,
    truncdiv,
    truncmod,
)
from parpass.tir.op.intrin import *
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
    stmt_list,
    stmt_seq,
)
from parpass.tir.stmt_expr_functor import (
    StmtExprFunctor,
    StmtExprMutator,
    StmtExprVisitor,
    StmtFunctor,
    StmtMutator,
    StmtVisitor,
)
from parpass.tvm_paths import attach_tvm_paths

if TYPE_CHECKING:
    from parpass.tir import arith

__all__ = [
    "Allocate",
    "Any",
    "AssertStmt",
    "AttrStmt",
    "Broadcast",
    "Buffer",
    "BufferLoad",
    "BufferRealize",
    "BufferStore",
    "Call",
    "CallEffectKind",
    "Cast",
    "CommReducer",
    "EqualOp",
    "Evaluate",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "FloatImm",
    "For",
    "ForKind",
    "IfThenElse",
    "IntImm",
    "IterVar",
    "Let",
    "LetStmt",
    "Load",
    "Not",
    "NotEqualOp",
    "PrimExpr",
    "PrimFunc",
    "ProducerLoad",
    "Ramp",
    "Range",
    "Reduce",
    "Select",
    "SeqStmt",
    "Shuffle",
    "SizeVar",
    "Stmt",
    "StmtExprFunctor",
    "StmtExprMutator",
    "StmtExprVisitor",
    "StmtFunctor",
    "StmtMutator",
    "StmtVisitor",
    "Store",
    "StringImm",
    "Var",
    "While",
    "abs",
    "all",
    "analysis",
    "any",
    "arith",
    "comm_reducer",
    "const",
    "const_true",
    "decl_buffer",
    "div",
    "floordiv",
    "floormod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "ir_builder",
    "likely",
    "max",
    "max_value",
    "min",
    "min_value",
    "reinterpret",
    "stmt_functor",
    "stmt_list",
    "stmt_seq",
    "sum",
    "transform",
    "truncdiv",
    "truncmod",
]
__all__ += binary_op.__all__
__all__ += intrin.__all__

# With its rules it takes longer to load than all else here.
__getattr__, __dir__ = attach_lazy(
    __name__, {}, submodules={"arith": "parpass.tir.arith"}
)

attach_tvm_paths(__name__)

importlib.import_module("parpass.tir.tir_dialect")  # of the base of IRs
importlib.import_module("parpass.ir.module_adapter")  # makes passes run on IRModules
importlib.import_module("parpass.ir.tir_config")  # makes contexts accept TVM's
