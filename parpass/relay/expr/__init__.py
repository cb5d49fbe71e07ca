"""Relay's expressions, under TVM's names: the nodes, and their Python builders."""

from __future__ import annotations

from parpass.ir.attrs import DictAttrs
from parpass.ir.global_var import GlobalVar
from parpass.ir.relay_expr import Operand
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
