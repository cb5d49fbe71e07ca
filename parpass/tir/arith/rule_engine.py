"""The rules of the rewriting simplifier, and their engine: nodes and facts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

from parpass.fork_safety import cached_property
from parpass.ir.node import children
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.rule_language import FIELDS, Apply, Rule, Rules
from parpass.tir.arith.rules.arithmetic_rules import (
    ADD_RULES,
    DIV_RULES,
    FLOOR_DIV_RULES,
    FLOOR_MOD_RULES,
    MOD_RULES,
    MUL_RULES,
    SUB_RULES,
)
from parpass.tir.arith.rules.condition_rules import (
    AND_RULES,
    EQ_RULES,
    LT_RULES,
    MAX_RULES,
    MIN_RULES,
    NOT_RULES,
    OR_RULES,
    SELECT_RULES,
    VECTOR_RULES,
)
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Broadcast,
    IntImm,
    Max,
    Min,
    Not,
    Or,
    PrimExpr,
    Ramp,
    Select,
    Sub,
)
from parpass.tir.expr.binary_op import ARITHMETIC, DIVISIONS
from parpass.tir.expr_functor import ExprFunctor
from parpass.tir.op.const_fold import INDEX, DivisionByZeroError, fold, int_imm


class RuleSet:
    """Rules by what they are about: tried in their order, the first that fits wins.

    They are parsed when one is first asked for, and each is compiled when it may fit.
    """

    def __init__(self, *families: list[Rules]) -> None:
        self._texts = [*itertools.chain(*families)]
        self._compiled: dict[int, Apply] = {}
        self._fitting: dict[tuple[type[Any], ...], list[Apply]] = {}

    @cached_property
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


INDICES = RuleSet(
    ADD_RULES,
    SUB_RULES,
    MUL_RULES,
    DIV_RULES,
    MOD_RULES,
    FLOOR_DIV_RULES,
    FLOOR_MOD_RULES,
    MIN_RULES,
    MAX_RULES,
    LT_RULES,
    EQ_RULES,
)
CONDITIONS = RuleSet(AND_RULES, OR_RULES, NOT_RULES, SELECT_RULES)
VECTOR = RuleSet(VECTOR_RULES)


MAX_DEPTH = 6  # how often what a rule gives is simplified by a rule again

FOLDED = frozenset((*ARITHMETIC, EQ, NE, LT, LE, And, Or))
_COMPARED = frozenset((EQ, NE, LT, LE))


class RuleEngine(ExprFunctor[Any]):
    """Applies rules to nodes of simplified parts, and answers what rules ask."""

    def __init__(self, known: AnalyzerState) -> None:
        super().__init__()
        self._known = known
        self._table = known.table
        self._depth = 0
        # What rules made is simplified less, the more rules it took: that is not kept.
        self._made: dict[Any, Any] = {}

    # -- what rules build

    def make(self, kind: type[PrimExpr], *parts: Any) -> Any:
        """Return a node of simplified parts, simplified."""
        if kind is Not or kind is Select:
            node = self._table.node(kind, *parts)
        elif kind is Broadcast or kind is Ramp:
            node = self._vector(kind, *parts)
        else:
            found = fold(kind, *parts) if kind in FOLDED else None
            if found is not None:
                return self._table.first(found)
            node = self._table.node(kind, *parts)
        if self._depth >= MAX_DEPTH:
            return node
        self._depth += 1
        try:
            return self._simplified(node)
        finally:
            self._depth -= 1

    def _vector(self, kind: type[Ramp | Broadcast], *parts: Any) -> Any:
        return self._table.first(kind(*parts))

    def imm(self, node: Any, value: int) -> IntImm:
        """Return an int of the dtype that the operands of a node have."""
        operand = node.a
        while operand.dtype == "bool" and hasattr(operand, "a"):
            operand = operand.a  # in a condition, what is compared
        dtype = operand.dtype
        element = data_type(dtype).element if "x" in dtype else dtype
        return self._table.imm(element, int_imm(element, value).value)

    def truth(self, value: bool) -> IntImm:
        """Return a condition that holds always, or never."""
        return self._table.imm("bool", int(value))

    # -- what rules ask

    def nonneg(self, expr: PrimExpr) -> bool:
        """Return whether an expression is known not to be negative."""
        return self._known.bounds.of(expr).low >= 0

    def same(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Return whether two expressions are equal."""
        return a is b

    # -- the simplification of a node of simplified parts

    def _simplified(self, node: Any) -> Any:
        for memo in (self.memo_map, self._made):
            if node in memo:
                return memo[node]
        found = None if self._table.is_impure(node) else self._rewritten(node)
        result = node if found is None else found
        memo = self._made if self._depth else self.memo_map
        memo[node] = result
        return result

    def _rewritten(self, node: Any) -> Any:
        kind = cast("type[Any]", type(node))
        truth = self._known.facts.truths.get(node)
        if truth is not None and node.dtype == "bool":
            return self.truth(truth)
        if kind in (GT, GE):
            return self.make(LT if kind is GT else LE, node.b, node.a)
        is_scalar = node.dtype in INDEX or node.dtype == "bool"
        if not is_scalar:
            return self._by_vector_rules(node)
        if kind in _COMPARED:
            return self._comparison(node)
        if kind in ARITHMETIC and node.dtype in INDEX:
            found = self._decided(node)
            return self._by_rules(node) if found is None else found
        if kind in (And, Or, Not, Select):
            return self._condition(node)
        return None

    def _by_vector_rules(self, node: Any) -> Any:
        kind = cast("type[Any]", type(node))
        if kind in DIVISIONS:
            divisor = node.b.value if isinstance(node.b, Broadcast) else node.b
            if isinstance(divisor, IntImm) and divisor.value == 0:
                raise DivisionByZeroError(
                    f"Divide by zero: the divisor is the constant 0 of {node.dtype}"
                )
        if kind is Select:
            return self._condition(node)
        if not _binary(node) or not (kind is LE or kind is NE or "x" in node.dtype):
            return None
        if _has_ramp_of_floats(node):
            return None  # of which the sums are rounded
        return _first(VECTOR.fitting(node), node, self)

    def _comparison(self, node: Any) -> Any:
        if node.a.dtype not in INDEX:
            return None
        if isinstance(node, LE | NE):  # a <= b is not b < a
            opposite = LT if isinstance(node, LE) else EQ
            parts = (node.b, node.a) if opposite is LT else (node.a, node.b)
            plain = self._table.node(opposite, *parts)
            found = self.make(opposite, *parts)
            return None if found is plain else self.make(Not, found)
        found = self._decided_comparison(node)
        return self._by_rules(node) if found is None else found

    def _by_rules(self, node: Any) -> Any:
        return _first(INDICES.fitting(node), node, self)

    def _decided_comparison(self, node: Any) -> Any:
        if node.a is node.b:
            return self.truth(isinstance(node, EQ))
        gap = self.make(Sub, node.a, node.b)
        low, high = self._known.bounds.of(gap)
        if isinstance(node, LT):
            if high < 0 or low >= 0:
                return self.truth(high < 0)
            return None
        if low > 0 or high < 0:
            return self.truth(False)
        return self.truth(True) if low == high == 0 else None

    def _decided(self, node: Any) -> Any:
        """Return what bounds say that a node is."""
        if isinstance(node, Min | Max):
            low, high = self._known.bounds.of(self.make(Sub, node.a, node.b))
            if high <= 0 or low >= 0:
                return node.a if (high <= 0) == isinstance(node, Min) else node.b
        return None

    def _condition(self, node: Any) -> Any:
        if isinstance(node, Select):
            condition = node.condition
            if isinstance(condition, IntImm):
                return node.true_value if condition.value else node.false_value
            return _first(CONDITIONS.fitting(node), node, self)
        if isinstance(node, Not):
            if isinstance(node.a, IntImm):
                return self.truth(not node.a.value)
            if _compares_others(node.a):
                return None
        if isinstance(node, Or) and _compares_others(node.a):
            return None
        return _first(CONDITIONS.fitting(node), node, self)


def _first(rules: Any, node: Any, simplifier: Any) -> Any:
    for apply in rules:
        found = apply(node, simplifier)
        if found is not None:
            return found
    return None


def _compares_others(condition: Any) -> bool:
    """Return whether no ints are compared: `a < b` or `b <= a` is false of NaN."""
    is_comparison = isinstance(condition, EQ | NE | LT | LE)
    return is_comparison and condition.a.dtype not in INDEX


def _binary(node: Any) -> bool:
    return hasattr(node, "a")


def _has_ramp_of_floats(node: Any) -> bool:
    ramps = (one for one in children(node) if isinstance(one, Ramp))
    return any(data_type(one.dtype).is_floating for one in ramps)
