"""All rules of the rewriting simplifier, by what they are about."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, cast

from parpass.tir.arith.rule_syntax import FIELDS
from parpass.tir.arith.rule_text import Apply, Rule, Rules
from parpass.tir.arith.rules.add_sub import ADD, SUB
from parpass.tir.arith.rules.compare import EQ, LT
from parpass.tir.arith.rules.div_mod import DIV, FLOOR_DIV, FLOOR_MOD, MOD
from parpass.tir.arith.rules.logic import AND, NOT, OR, SELECT
from parpass.tir.arith.rules.min_max import MAX, MIN
from parpass.tir.arith.rules.multiply import MUL
from parpass.tir.arith.rules.vectors import VECTORS
from parpass.tir.prim_expr import PrimExpr


class RuleSet:
    """Rules by what they are about: tried in their order, the first that fits wins.

    They are parsed when one is first asked for, and each is compiled when it may fit.
    """

    def __init__(self, *families: list[Rules]) -> None:
        self._texts = [*itertools.chain(*families)]
        self._compiled: dict[int, Apply] = {}
        self._fitting: dict[tuple[type[Any], ...], list[Apply]] = {}

    @functools.cached_property
    def by_kind(self) -> dict[type[PrimExpr], list[Rule]]:
        """The rules, by what they are about."""
        found: dict[type[PrimExpr], list[Rule]] = {}
        for text in self._texts:
            for rule in text.parsed():
                found.setdefault(rule.kind, []).append(rule)
        return found

    def __iter__(self) -> Iterator[Rule]:
        return itertools.chain(*self.by_kind.values())

    def fitting(self, node: Any) -> list[Apply]:
        """Return the rules that may fit a node, by its kind and its operands'."""
        kind = cast("type[Any]", type(node))
        fields = FIELDS.get(kind, ("a", "b"))
        operands = [cast("type[Any]", type(getattr(node, field))) for field in fields]
        key = (kind, *operands)
        found = self._fitting.get(key)
        if found is None:
            found = self._fitting[key] = [
                self._apply(rule)
                for rule in self.by_kind.get(kind, ())
                if _fits(rule.operands, operands)
            ]
        return found

    def _apply(self, rule: Rule) -> Apply:
        if id(rule) not in self._compiled:
            self._compiled[id(rule)] = rule.compiled()
        return self._compiled[id(rule)]


def _fits(wanted: tuple[Any, ...], got: list[Any]) -> bool:
    return all(w is None or w is g for w, g in zip(wanted, got, strict=True))


INDICES = RuleSet(ADD, SUB, MUL, DIV, MOD, FLOOR_DIV, FLOOR_MOD, MIN, MAX, LT, EQ)
CONDITIONS = RuleSet(AND, OR, NOT, SELECT)
VECTOR = RuleSet(VECTORS)
