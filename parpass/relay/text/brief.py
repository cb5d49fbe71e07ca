"""A node in a few words, for messages and debuggers; never looks below its children."""

from __future__ import annotations

from parpass.ir.adt import Constructor
from parpass.ir.op.op_table import Op
from parpass.relay.adt import Match
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)

_NAMES = (Var, GlobalVar, Op, Constructor)


def brief(expr: Expr) -> str:
    """Return what tells a node from others of its kind, such as `nn.relu, 1 args`."""
    if isinstance(expr, _NAMES):
        return expr.name if isinstance(expr, Op) else expr.name_hint
    match expr:
        case Constant():
            return str(expr.checked_type)
        case Call(op=op, args=args):
            return f"{_name(op)}, {len(args)} args"
        case Tuple(fields=fields):
            return f"{len(fields)} fields"
        case TupleGetItem(index=index):
            return str(index)
        case Let(var=var):
            return _name(var)
        case If(cond=cond):
            return _name(cond)
        case Match(clauses=clauses):
            return f"{len(clauses)} clauses"
        case Function(params=params):
            return f"{len(params)} params"
        case _:
            return ""


def _name(expr: Expr) -> str:
    return brief(expr) if isinstance(expr, _NAMES) else type(expr).__name__
