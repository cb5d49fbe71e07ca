"""What references have, and what operators give on what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.errors import EvaluationError
from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Constant, Expr, RefCreate, RefRead, RefWrite, Tuple
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.fold_constant import may_evaluate
from parpass.relay.transform.partial_evaluation.partial_values import (
    Fields,
    Partial,
    Reference,
)
from parpass.relay.transform.partial_evaluation.residual import Store

_NESTING = 16  # of tuples that are given to operators


def referred(
    value: RefCreate | RefRead | RefWrite, parts: Sequence[Partial], store: Store
) -> Any:
    """Take down what a reference has now; return what is known of the value.

    Of a read this is the value itself, or None.
    """
    if isinstance(value, RefCreate):
        created = Reference()
        store[created] = parts[0]
        return created
    ref = parts[0].known
    if isinstance(value, RefRead):
        return store[ref] if isinstance(ref, Reference) else None
    if isinstance(ref, Reference):
        store[ref] = parts[1]
    else:
        store.forget()
    return Fields(())


def evaluated_call(
    call: Call, op: Op, args: Sequence[Partial], evaluator: Evaluator
) -> Expr | None:
    """Return the value of a call of an operator, if it is known."""
    if not args or not may_evaluate(op):
        return None
    known = [_as_constant(arg, _NESTING) for arg in args]
    given = [one for one in known if one is not None]
    if len(given) < len(known):
        return None
    try:
        return evaluator.evaluate(op, call.attrs, given, call.span)
    except EvaluationError:
        return None  # it may never be run


def _as_constant(value: Partial, nesting: int) -> Expr | None:
    """Return a value that is known as a constant, or a tuple of such."""
    if isinstance(value.known, Constant):
        return value.known
    if not isinstance(value.known, Fields) or nesting == 0:
        return None
    fields = [_as_constant(one, nesting - 1) for one in value.known.values]
    found = [one for one in fields if one is not None]
    return Tuple(found) if len(found) == len(fields) else None
