"""An operator with an effect, for passes that must leave it alone."""

from __future__ import annotations

from typing import Any

from parpass.relay.expr import Call, Expr
from parpass.relay.op.registry import Op, register_op
from parpass.relay.op.relations import identity


def _same(_attrs: Any, value: Any) -> Any:
    return value


STATEFUL = register_op(Op("test.stateful", 1, identity, _same, stateful=True))


def effect(arg: Expr) -> Call:
    """Return a call of the operator, whose value is its argument."""
    return Call(STATEFUL, (arg,))
