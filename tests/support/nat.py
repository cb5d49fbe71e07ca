"""Natural numbers as values of a defined type, to try recursion on."""

from __future__ import annotations

from parpass.relay.expr import Call, Expr
from parpass.relay.interpreter.values import ConstructorValue
from parpass.relay.prelude import Prelude


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """Return the number that a value of type `nat` stands for.

    Args:
        prelude: Its module has `nat.rly`.
        n: The value.
    """
    _, zero, _ = prelude.mod.get_type("nat")
    found = 0
    while n.tag != zero.tag:
        found += 1
        [n] = n.fields
    return found


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """Return the value of type `nat` that stands for a number."""
    _, zero, successor = prelude.mod.get_type("nat")
    value = ConstructorValue(zero.tag, (), zero)
    for _ in range(n):
        value = ConstructorValue(successor.tag, (value,), successor)
    return value


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """Return the expression of type `nat` that stands for a number."""
    _, zero, successor = prelude.mod.get_type("nat")
    expr: Expr = Call(zero, ())
    for _ in range(n):
        expr = Call(successor, (expr,))
    return expr
