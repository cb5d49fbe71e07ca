"""The facts of an analyzer, which its simplifier goes by."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from parpass.tir.arith.bounds import Bounds
from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.arith.facts import Facts
from parpass.tir.expr import PrimExpr, Var


class AnalyzerState:
    """The facts of an analyzer: expressions, constraints, and what follows from these.

    Attributes:
        table: The expressions.
        facts: The constraints on some of them.
        bounds: Intervals of all.
        values: Expressions for variables.
        epoch: An object that is replaced whenever cached results may be invalid.
    """

    def __init__(self) -> None:
        self.table = ExprTable()
        self.facts = Facts(self.table)
        self.bounds = Bounds(self.table, self.facts)
        self.values: dict[Var, PrimExpr] = {}
        self.scopes = 0  # those that a simplifier is in
        self.constraints = 0  # those that the caller is in
        self.epoch = object()
        self._revision = 0  # of what is known of variables that expressions mention

    def clear(self) -> None:
        """Forget all, to begin with an empty table."""
        self.table.clear()
        self.values.clear()
        self.facts.clear()
        self._revision += 1
        self._forget_derived()

    def learned(self, var: Var) -> None:
        """Forget what was found without something that is known of a variable now.

        Nothing was, if no expression has mentioned it yet.
        """
        if self.table.has(var):
            self._revision += 1
            self._forget_derived()

    @contextlib.contextmanager
    def apart(self) -> Generator[None, None, None]:
        """Find things anew for as long as other facts hold, then know the old ones."""
        revision = self._revision
        found = self.bounds.memo, self.epoch
        self._forget_derived()
        try:
            yield
        finally:
            if revision == self._revision:
                self.bounds.memo, self.epoch = found
            else:
                self._forget_derived()

    def _forget_derived(self) -> None:
        self.bounds.memo = {}
        self.epoch = object()
