"""Relay's expressions, under TVM's names: the nodes, and what builds them in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.ir.attrs import DictAttrs
from parpass.ir.relay_expr import GlobalVar, Operand
from parpass.relay.expr.expr_builders import (
    TupleWrapper,
    as_expr,
    const,
    eta_expanded,
    var,
)
from parpass.relay.expr.expr_nodes import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VarId,
)

__all__ = [
    "Call",
    "Constant",
    "DictAttrs",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Operand",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "Tuple",
    "TupleGetItem",
    "TupleWrapper",
    "Var",
    "VarId",
    "as_expr",
    "const",
    "eta_expanded",
    "var",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
