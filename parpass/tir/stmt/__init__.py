"""Statements of loop programs: immutable nodes, under TVM's names and fields."""

from parpass.tir.stmt.control_flow import (
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Sequences,
    While,
    is_no_op,
    stmt_list,
    stmt_seq,
)
from parpass.tir.stmt.stmt_base import (
    STMT_KINDS,
    Stmt,
    plain,
    plain_attrs,
)
from parpass.tir.stmt.storage import Allocate, BufferRealize, BufferStore, Store

__all__ = [
    "STMT_KINDS",
    "Allocate",
    "AssertStmt",
    "AttrStmt",
    "BufferRealize",
    "BufferStore",
    "Evaluate",
    "For",
    "ForKind",
    "IfThenElse",
    "LetStmt",
    "SeqStmt",
    "Sequences",
    "Stmt",
    "Store",
    "While",
    "is_no_op",
    "plain",
    "plain_attrs",
    "stmt_list",
    "stmt_seq",
]
