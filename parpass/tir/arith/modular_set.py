"""Modular sets: the remainders of expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parpass.ir.op_table import Op
from parpass.tir.arith import congruence
from parpass.tir.arith.congruence import ANYTHING, Congruence
from parpass.tir.arith.const_int_bound import Bounds
from parpass.tir.arith.expr_table import BottomUp, ExprTable
from parpass.tir.arith.facts import Facts
from parpass.tir.binary_op import (
    Add,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
)
from parpass.tir.expr import Broadcast, Call, Cast, Select
from parpass.tir.prim_expr import IntImm


@dataclass
class ModularSet:
    """The ints `coeff * n + base`; one int alone if `coeff` is 0."""

    coeff: int
    base: int


class Moduli(BottomUp[Congruence]):
    """Finds congruences, from those of variables."""

    def __init__(self, table: ExprTable, facts: Facts, bounds: Bounds) -> None:
        super().__init__(table)
        self._facts = facts.moduli
        self.bounds = bounds

    def unknown(self, expr: Any) -> Congruence:
        """Return that anything may be left."""
        del expr
        return ANYTHING

    def narrowed(self, expr: Any, value: Congruence) -> Congruence:
        """Return what keeps the facts, too."""
        known = self._facts.get(expr)
        return value if known is None else congruence.meet(known, value)


def _constant(moduli: Moduli, node: IntImm) -> Congruence:
    return Congruence(0, node.value)


def _floor_div(
    moduli: Moduli, node: FloorDiv, a: Congruence, b: Congruence
) -> Congruence:
    return _divided(a, b)


def _div(moduli: Moduli, node: Div, a: Congruence, b: Congruence) -> Congruence:
    # Where the dividend is negative, rounding goes the other way.
    if a.base == 0 or moduli.bounds.of(node.a).low >= 0:
        return _divided(a, b)
    return ANYTHING


def _remainder(
    moduli: Moduli, node: Mod | FloorMod, a: Congruence, b: Congruence
) -> Congruence:
    return congruence.remainder(a, b.base) if _is_divisor(b) else ANYTHING


def _join(moduli: Moduli, node: Any, a: Congruence, b: Congruence) -> Congruence:
    return congruence.join(a, b)


def _select(moduli: Moduli, node: Select, *values: Congruence) -> Congruence:
    return congruence.join(values[1], values[2])


def _call(moduli: Moduli, node: Call, _op: Congruence, *args: Congruence) -> Congruence:
    name = node.op.name if isinstance(node.op, Op) else ""
    if name == "tir.if_then_else":
        return congruence.join(args[1], args[2])
    if name == "tir.shift_right" and args[1].coeff == 0 and 0 <= args[1].base < 64:
        return _divided(args[0], Congruence(0, 1 << args[1].base))
    return ANYTHING


def _is_divisor(b: Congruence) -> bool:
    return b.coeff == 0 and b.base > 0


def _divided(a: Congruence, b: Congruence) -> Congruence:
    if not _is_divisor(b) or a.coeff % b.base:
        return ANYTHING
    return Congruence.of(a.coeff // b.base, a.base // b.base)


def _of(compute: Callable[..., Congruence]) -> Callable[..., Congruence]:
    def rule(moduli: Moduli, node: Any, *values: Congruence) -> Congruence:
        del moduli, node
        return compute(*values)

    return rule


def _itself(value: Congruence) -> Congruence:
    return value


def _difference(a: Congruence, b: Congruence) -> Congruence:
    return congruence.add(a, -b)


Moduli.rules = {
    IntImm: _constant,
    Cast: _of(_itself),
    Add: _of(congruence.add),
    Sub: _of(_difference),
    Mul: _of(congruence.multiply),
    Div: _div,
    Mod: _remainder,
    FloorDiv: _floor_div,
    FloorMod: _remainder,
    Min: _join,
    Max: _join,
    Select: _select,
    Broadcast: _of(_itself),
    Call: _call,
}
