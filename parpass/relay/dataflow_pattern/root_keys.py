"""What an expression must be for a pattern to match it, so that few are tried."""

from __future__ import annotations

from parpass.ir.operators.op_table import Op
from parpass.relay.dataflow_pattern.expr_graph import RootKey
from parpass.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
)
from parpass.relay.dataflow_pattern.reassociation import ASSOCIATED
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)

_KINDS: dict[type[DFPattern], type[Expr]] = {
    ConstantPattern: Constant,
    FunctionPattern: Function,
    IfPattern: If,
    LetPattern: Let,
    TupleGetItemPattern: TupleGetItem,
    TuplePattern: Tuple,
    VarPattern: Var,
}


def root_keys(pattern: DFPattern) -> frozenset[RootKey] | None:
    """Return what an expression must be for a match; None if it may be anything."""
    keys: set[RootKey] = set()
    seen: set[DFPattern] = set()
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case CallPattern():
                keys |= _call_keys(part)
            case ExprPattern():
                keys.add(type(part.expr))
            case AltPattern():
                waiting += (part.left, part.right)
            case DominatorPattern():
                waiting.append(part.child)
            case AttrPattern() | TypePattern() | DataTypePattern() | ShapePattern():
                waiting.append(part.pattern)
            case _ if type(part) in _KINDS:
                keys.add(_KINDS[type(part)])
            case _ if part.inputs:  # a wildcard that is redirected
                waiting += part.inputs
            case _:
                return None
    return frozenset(keys)


def _call_keys(pattern: CallPattern) -> set[RootKey]:
    callee = pattern.op
    while isinstance(callee, AttrPattern):
        callee = callee.pattern
    if isinstance(callee, AltPattern):
        return _call_keys(CallPattern(callee.left, None)) | _call_keys(
            CallPattern(callee.right, None)
        )
    if not isinstance(callee, ExprPattern) or not isinstance(callee.expr, Op):
        return {Call}
    other = ASSOCIATED.get(callee.expr.name)
    return {callee.expr, Op.get(other)} if other else {callee.expr}
