"""Loop programs: functions that run statements, under the names of `tvm.tir`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy
from parpass.tir import analysis, binary_op, ir_builder, stmt_functor, transform
from parpass.tir.binary_op import *
from parpass.tir.buffer import Buffer, BufferLoad, decl_buffer
from parpass.tir.builtin import CallEffectKind
from parpass.tir.expr import (
    Any,
    Broadcast,
    Call,
    Cast,
    Let,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    SizeVar,
    Var,
    const_true,
)
from parpass.tir.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from parpass.tir.function import PrimFunc
from parpass.tir.iteration import IterVar, Range
from parpass.tir.op import (
    abs,
    all,
    any,
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
    max_value,
    min_value,
    reinterpret,
    truncdiv,
    truncmod,
)
from parpass.tir.op.intrin import *
from parpass.tir.prim_expr import (
    EqualOp,
    FloatImm,
    IntImm,
    NotEqualOp,
    PrimExpr,
    StringImm,
)
from parpass.tir.reduction import CommReducer, Reduce, comm_reducer, max, min, sum
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
from parpass.tir.tensor import ProducerLoad

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


importlib.import_module("parpass.tir.tir_dialect")  # of the base of IRs
importlib.import_module("parpass.ir.module_adapter")  # makes passes run on IRModules
importlib.import_module("parpass.ir.tir_config")  # makes contexts accept TVM's
