"""What an analyzer knows, which its simplifiers share."""

from __future__ import annotations

from parpass.tir.arith.const_int_bound import Bounds
from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.arith.facts import Facts
from parpass.tir.arith.modular_set import Moduli
from parpass.tir.expr import Var
from parpass.tir.prim_expr import PrimExpr


class Known:
    """What an analyzer knows: expressions, facts, and what follows of these.

    Attributes:
        table: The expressions.
        facts: What is known of some of them.
        bounds: Intervals of all.
        moduli: Remainders of all.
        values: Expressions that stand for variables.
    """

    def __init__(self) -> None:
        self.table = ExprTable()
        self.facts = Facts(self.table)
        self.bounds = Bounds(self.table, self.facts)
        self.moduli = Moduli(self.table, self.facts, self.bounds)
        self.values: dict[Var, PrimExpr] = {}
        self.scopes = 0  # those that a simplifier is in
        self.constraints = 0  # those that the caller is in

    def clear(self) -> None:
        """Forget all, to begin with an empty table."""
        self.table.clear()
        self.values.clear()
        self.facts.clear()
        self.forget_derived()

    def forget_derived(self) -> None:
        """Forget what was found of facts that are others now."""
        self.bounds.memo = {}
        self.moduli.memo = {}
