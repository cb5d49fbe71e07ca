"""Simplification by rules: bottom-up, and results are simplified again."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, cast

from msgspec import structs

from parpass.ir.global_var import GlobalVar
from parpass.ir.node import Node, children, post_order
from parpass.ir.op.op_table import Op
from parpass.tir.analysis.expr_analysis import side_effect
from parpass.tir.arith import interval
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.rule_engine import FOLDED, RuleEngine
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    GE,
    GT,
    Broadcast,
    Call,
    CallEffectKind,
    Cast,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Not,
    PrimExpr,
    Reduce,
    Select,
    Var,
)
from parpass.tir.op import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cast_to,
    left_shift,
    right_shift,
)
from parpass.tir.op.const_fold import fold
from parpass.tir.stmt_functor import substitute


def without_unused(reduce: Reduce) -> Reduce:
    """Return a reduction with the values alone that its result is made of.

    What does more than give a value stays.
    """
    combiner = reduce.combiner
    if combiner is None:
        return reduce
    kept = _needed(combiner, reduce)
    if len(kept) == len(reduce.source):
        return reduce

    def of(parts: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([parts[at] for at in kept])

    fields = ("lhs", "rhs", "result", "identity_element")
    smaller = {name: of(getattr(combiner, name)) for name in fields}
    return structs.replace(
        reduce,
        combiner=structs.replace(combiner, **smaller),
        source=of(reduce.source),
        value_index=kept.index(reduce.value_index),
        init=of(reduce.init) if reduce.init else (),
    )


def _needed(combiner: CommReducer, reduce: Reduce) -> list[int]:
    """Return the numbers of the values that a result is made of, in order."""
    place: dict[Node, int] = {}
    for at, (lhs, rhs) in enumerate(zip(combiner.lhs, combiner.rhs, strict=True)):
        place[lhs] = place[rhs] = at
    impure = [
        at
        for at, one in enumerate(reduce.source)
        if side_effect(one) > CallEffectKind.ReadState
    ]
    found: set[int] = set()
    waiting = [reduce.value_index, *impure]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            nodes = post_order(combiner.result[at])
            waiting += [place[node] for node in nodes if node in place]
    return sorted(found)


def without_axes(reduce: Reduce) -> PrimExpr:
    """Return the value of a reduction over no axes: of one value, if there is one."""
    combiner, at = reduce.combiner, reduce.value_index
    if combiner is None:
        return reduce
    if not reduce.init:
        identity = combiner.identity_element[at]
        return Select(reduce.condition, reduce.source[at], identity)
    values = dict(zip(combiner.lhs, reduce.init, strict=True))
    values |= dict(zip(combiner.rhs, reduce.source, strict=True))
    combined = substitute(combiner.result[at], values)
    return Select(reduce.condition, combined, reduce.init[at])


MAX_SCOPES = 32  # conditions within conditions that are made use of
# What two branches share is simplified in each: conditions are made use of until so
# many nodes were gone through, or expressions that share much would take forever.
MAX_SCOPED = 4_000

_FOLDED_CALLS = {
    "tir.bitwise_and": bitwise_and,
    "tir.bitwise_or": bitwise_or,
    "tir.bitwise_xor": bitwise_xor,
    "tir.shift_left": left_shift,
    "tir.shift_right": right_shift,
}


class RewriteSimplifier(RuleEngine):
    """Simplifies expressions of a table."""

    def __init__(self, known: AnalyzerState) -> None:
        super().__init__(known)
        self._gone_through = 0

    def simplified(self, expr: PrimExpr) -> Any:
        """Return an expression of the table, simplified.

        What was found before is made use of; so the simplifier is to be dropped when
        what is known is of another epoch.
        """
        self._gone_through = 0
        self._made = {}
        return self.visit(expr)

    def visit_default(self, expr: Any) -> Any:
        """Simplify a node of which the children are."""
        return self._of_parts(expr, [self.memo_map[one] for one in children(expr)])

    def visit_leaf(self, leaf: Any) -> Any:
        """Return a leaf as it is."""
        return leaf

    def visit_op_(self, op: Op) -> Any:
        """Return an operator as it is."""
        return op

    def visit_global_var_(self, op: GlobalVar) -> Any:
        """Return a reference as it is."""
        return op

    def visit_var_(self, op: Var) -> Any:
        """Put in what the variable stands for."""
        return self._known.values.get(op, op)

    def _of_parts(self, expr: Any, parts: list[Any]) -> Any:
        kind = cast("type[Any]", type(expr))
        self._gone_through += 1
        if self._table.is_impure(expr):
            return self._table.rebuilt(expr, parts)
        if kind in FOLDED or kind in (GT, GE):
            found = fold(kind, *parts)
            node = self._table.node(kind, *parts) if found is None else found
            return self._simplified(self._table.first(node))
        if kind is Cast and isinstance(parts[0], IntImm | FloatImm):
            return self._table.first(cast_to(parts[0], expr.dtype))
        if kind is Cast and isinstance(parts[0], Broadcast):
            one, element = parts[0].value, data_type(expr.dtype).element
            return self._table.first(Broadcast(cast_to(one, element), parts[0].lanes))
        return self._simplified(self._table.rebuilt(expr, parts))

    def visit_select_(self, op: Select) -> Generator[Any, Any, Any]:
        """Simplify each value where the condition holds, or does not."""
        condition = yield op.condition
        if isinstance(condition, IntImm):
            return (yield op.true_value if condition.value else op.false_value)
        true = yield from self._under(condition, op.true_value)
        false = yield from self._under(self.make(Not, condition), op.false_value)
        return self._of_parts(op, [condition, true, false])

    def visit_call_(self, op: Call) -> Generator[Any, Any, Any]:
        """Simplify the arguments; of `if_then_else` as those of a selection."""
        name = op.op.name if isinstance(op.op, Op) else ""
        if name == "tir.if_then_else":
            condition = yield op.args[0]
            if isinstance(condition, IntImm):
                return (yield op.args[1] if condition.value else op.args[2])
            true = yield from self._under(condition, op.args[1])
            false = yield from self._under(self.make(Not, condition), op.args[2])
            if true is false:
                return true
            return self._table.rebuilt(op, [op.op, condition, true, false])
        args: list[Any] = []
        for one in op.args:
            args.append((yield one))  # noqa: PERF401 -- no yield in a comprehension
        if name in _FOLDED_CALLS and all(isinstance(one, IntImm) for one in args):
            return self._table.first(_FOLDED_CALLS[name](*args))
        if name == "tir.likely" and isinstance(args[0], IntImm):
            return args[0]
        return self._table.rebuilt(op, [op.op, *args])

    def visit_let_(self, op: Let) -> Generator[Any, Any, Any]:
        """Put in the value, if it is a constant or a variable."""
        value = yield op.value
        known = self.memo_map.get(op.var)
        is_plain = isinstance(value, IntImm | FloatImm | Var)
        if is_plain and known in (None, value):
            self._known.values[op.var] = self.memo_map[op.var] = value
            return (yield op.body)
        body = yield op.body
        return self._table.rebuilt(op, [op.var, value, body])

    def visit_comm_reducer_(self, op: CommReducer) -> Any:
        """Simplify what two values make, and what leaves one as it is."""
        parts = {}
        for name in ("result", "identity_element"):
            new: list[Any] = []
            for one in getattr(op, name):
                new.append((yield one))  # noqa: PERF401 -- no yield in a comprehension
            parts[name] = tuple(new)
        new_op: Any = structs.replace(op, **parts)
        return self._table.first(new_op)

    def visit_reduce_(self, op: Reduce) -> Generator[Any, Any, Any]:
        """Simplify the values where the axes are in their ranges."""
        if op.combiner is None:
            return op
        if not op.axis:
            return (yield without_axes(op))
        self._bind_axes(op.axis)
        combiner = yield op.combiner
        smaller = without_unused(structs.replace(op, combiner=combiner))
        condition = yield smaller.condition
        source, init = list[Any](), list[Any]()
        for one in smaller.source:
            value = yield from self._under(condition, one)
            source.append(value)
        for one in smaller.init:
            init.append((yield one))
        new = structs.replace(smaller, source=source, condition=condition, init=init)
        return self._table.first(new)

    def _bind_axes(self, axes: Iterable[IterVar]) -> None:
        known = self._known
        for axis in axes:
            first = known.table.first(axis.dom.min)
            extent = known.table.first(axis.dom.extent)
            ends = known.bounds.of(first), known.bounds.of(extent)
            behind = interval.add(*ends)
            known.facts.variables[axis.var] = interval.clipped(
                ends[0].low, behind.high - 1
            )
            known.learned(axis.var)

    def _under(self, condition: Any, expr: Any) -> Generator[Any, Any, Any]:
        """Simplify an expression where a condition holds."""
        known = self._known
        is_too_much = known.scopes >= MAX_SCOPES or self._gone_through >= MAX_SCOPED
        if is_too_much or isinstance(condition, IntImm):
            return (yield expr)
        mark = known.facts.mark()
        outside, self.memo_map = self.memo_map, {}
        made, self._made = self._made, {}
        known.scopes += 1
        try:
            with known.apart():
                known.facts.holds(condition)
                return (yield expr)
        finally:
            known.scopes -= 1
            self.memo_map, self._made = outside, made
            known.facts.take_back(mark)
