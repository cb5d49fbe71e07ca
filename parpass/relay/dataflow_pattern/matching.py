"""Matching of an expression with a dataflow pattern, and of its parts.

A match is a search with backtracking: bindings of a failed branch are undone. Each step
is a generator that yields the matches it depends on, so patterns that follow the data
flow, by dominators or by recursion, may go 100,000 nodes deep.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

from parpass.ir.node import children
from parpass.relay.dataflow_pattern.expr_graph import ExprGraph, ExprTypes
from parpass.relay.dataflow_pattern.leaves import (
    COMMUTATIVE,
    has_attrs,
    known_answer,
    op_name,
    reassociated,
    satisfies,
)
from parpass.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    WildcardPattern,
    sub_patterns,
)
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem

NodeMap = dict[DFPattern, list[Expr]]
Question = tuple[DFPattern, Expr]
Steps = Generator[Question, bool, bool]


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Return whether an expression matches a pattern.

    If a pattern needs types and InferType has not run, they are inferred.
    """
    return Matcher(ExprGraph(expr), ExprTypes()).match(pattern, expr)


_MANY_STEPS = 64  # of a question: fewer are taken again rather than remembered


class _Frame(NamedTuple):
    pattern: DFPattern
    expr: Expr
    noted: int
    steps: Steps
    began: int


class Matcher:
    """Matches patterns to the nodes of one expression.

    A pattern that matched is noted with its expression, and matches no other one until
    the match is over; only along the path of a dominator it may match many.

    Args:
        graph: The expression, of which what is matched is a part.
        types: Tells the types of its nodes.

    Attributes:
        node_map: What the patterns matched in the last match.
    """

    def __init__(self, graph: ExprGraph, types: ExprTypes) -> None:
        self.node_map: NodeMap = {}
        self._graph = graph
        self._types = types
        self._trail: list[DFPattern] = []
        self._on_path = False
        self._asked: set[Question] = set()
        self._dead_ends: dict[DominatorPattern, set[Expr]] = {}
        # Questions whose answer was no after many steps, whatever else is bound.
        self._refused: set[Question] = set()
        self._steps = 0

    def match(self, pattern: DFPattern, expr: Expr) -> bool:
        """Return whether a node matches a pattern."""
        self.node_map, self._trail = {}, []
        self._refused, self._steps = set(), 0
        stack: list[_Frame] = []
        answer = self._enter(stack, pattern, expr)
        while stack:
            frame = stack[-1]
            try:
                # The first question of new steps has no answer before it.
                asked = frame.steps.send(answer)  # pyright: ignore[reportArgumentType]
            except StopIteration as stop:
                stack.pop()
                answer = bool(stop.value)
                self._leave(frame, matched=answer)
            else:
                answer = self._enter(stack, *asked)
        return bool(answer)

    def _enter(
        self, stack: list[_Frame], pattern: DFPattern, expr: Expr
    ) -> bool | None:
        """Return the answer if it is known at once, else leave steps to find it."""
        if not self._on_path and pattern in self.node_map:
            return self.node_map[pattern][0] is expr
        if (
            self._refused
            and (pattern, expr) in self._refused
            and self._is_alone(pattern)
        ):
            return False
        answer = known_answer(pattern, expr)
        if answer is None:
            self._steps += 1
            steps = _STEPS[type(pattern)](self, pattern, expr)
            began = self._steps
            stack.append(_Frame(pattern, expr, len(self._trail), steps, began))
        elif answer:
            self._note(pattern, expr)
        return answer

    def _leave(self, frame: _Frame, *, matched: bool) -> None:
        if matched:
            self._note(frame.pattern, frame.expr)
        else:
            self._take_back(frame.noted)
            is_long = self._steps - frame.began > _MANY_STEPS
            if is_long and self._is_alone(frame.pattern):
                self._refused.add((frame.pattern, frame.expr))

    def _is_alone(self, pattern: DFPattern) -> bool:
        """Return whether what the match has found so far says nothing of a pattern."""
        if self._on_path or self._asked:
            return False
        return self.node_map.keys().isdisjoint(sub_patterns(pattern))

    def _note(self, pattern: DFPattern, expr: Expr) -> None:
        self.node_map.setdefault(pattern, []).append(expr)
        self._trail.append(pattern)

    def _take_back(self, noted: int) -> None:
        while len(self._trail) > noted:
            pattern = self._trail.pop()
            self.node_map[pattern].pop()
            if not self.node_map[pattern]:
                del self.node_map[pattern]

    def _all(
        self, patterns: Sequence[DFPattern] | None, exprs: Sequence[Expr]
    ) -> Steps:
        if patterns is None:
            return True
        if len(patterns) != len(exprs):
            return False
        for pattern, expr in zip(patterns, exprs, strict=True):
            if not (yield pattern, expr):
                return False
        return True

    def call(self, pattern: CallPattern, expr: Call) -> Steps:
        """Match callee and arguments, in the orders that mean the same."""
        noted = len(self._trail)
        if (yield pattern.op, expr.op):
            after_op = len(self._trail)
            if (yield from self._all(pattern.args, expr.args)):
                return True
            self._take_back(after_op)
            if op_name(pattern.op) in COMMUTATIVE:
                return (yield from self._all(pattern.args, expr.args[::-1]))
            return False
        self._take_back(noted)
        for other in reassociated(pattern, expr):
            if (yield other, expr):
                return True
        return False

    def function(self, pattern: FunctionPattern, expr: Expr) -> Steps:
        """Match parameters and body."""
        if not isinstance(expr, Function):
            return False
        if not (yield from self._all(pattern.params, expr.params)):
            return False
        return (yield pattern.body, expr.body)

    def tuple(self, pattern: TuplePattern, expr: Expr) -> Steps:
        """Match the fields."""
        if not isinstance(expr, Tuple):
            return False
        return (yield from self._all(pattern.fields, expr.fields))

    def projection(self, pattern: TupleGetItemPattern, expr: Expr) -> Steps:
        """Match the index and the tuple."""
        if not isinstance(expr, TupleGetItem):
            return False
        if pattern.index not in {None, expr.index}:
            return False
        return (yield pattern.tuple, expr.tuple_value)

    def scope(self, pattern: IfPattern | LetPattern, expr: Expr) -> Steps:
        """Match all parts of an `if` or a `let`."""
        if not isinstance(expr, If if isinstance(pattern, IfPattern) else Let):
            return False
        return (yield from self._all(pattern.inputs, children(expr)))

    def either(self, pattern: AltPattern, expr: Expr) -> Steps:
        """Match the left pattern, else the right one."""
        return (yield pattern.left, expr) or (yield pattern.right, expr)

    def redirected(self, pattern: WildcardPattern, expr: Expr) -> Steps:
        """Match what a wildcard is redirected to."""
        (target,) = pattern.inputs
        question = (pattern, expr)
        if question in self._asked:  # by itself, and so it has no answer
            return False
        self._asked.add(question)
        answer = yield target, expr
        self._asked.discard(question)
        return answer

    def attributes(self, pattern: AttrPattern, expr: Expr) -> Steps:
        """Match a pattern and the attributes."""
        return (yield pattern.pattern, expr) and has_attrs(expr, pattern.attrs)

    def typed(
        self, pattern: TypePattern | DataTypePattern | ShapePattern, expr: Expr
    ) -> Steps:
        """Match a pattern and the type."""
        if not (yield pattern.pattern, expr):
            return False
        return satisfies(pattern, self._types.type_of(expr, self._graph.root))

    def dominator(self, pattern: DominatorPattern, expr: Expr) -> Steps:
        """Match the child, then walk to the one parent along all inputs."""
        if not (yield pattern.child, expr):
            return False
        seen = {expr}
        # The way from the child to where the walk is, with the inputs still to be seen.
        way: list[tuple[Expr, Iterator[Expr]]] = [(expr, iter(_dataflow(expr)))]
        while way:
            node = next(way[-1][1], None)
            if node is None:
                way.pop()
            elif not (yield pattern.parent, node) and node not in seen:
                seen.add(node)
                inputs = _dataflow(node)
                if not inputs or not (yield from self._is_path(pattern, node)):
                    self._note_dead_end(pattern, [at for at, _ in way])
                    return False
                way.append((node, iter(inputs)))
        parents = self.node_map.get(pattern.parent)
        return parents is not None and self._graph.dominates(expr, parents[0])

    def _is_path(self, pattern: DominatorPattern, node: Expr) -> Steps:
        is_bound = pattern.parent in self.node_map
        if not is_bound and node in self._dead_ends.get(pattern, ()):
            return False
        around, self._on_path = self._on_path, True
        answer = yield pattern.path, node
        self._on_path = around
        return answer

    def _note_dead_end(self, pattern: DominatorPattern, way: list[Expr]) -> None:
        # Chains of what a path may be can be long, and end at no parent: each child in
        # one would walk it again. It ends the same way for all of them as long as the
        # parent is not bound, as a whole or in a part, by the match so far.
        if not any(part in self.node_map for part in sub_patterns(pattern.parent)):
            self._dead_ends.setdefault(pattern, set()).update(way[1:])


def _dataflow(node: Expr) -> Sequence[Expr]:
    return node.args if isinstance(node, Call) else children(node)


_STEPS: dict[type[DFPattern], Callable[[Matcher, Any, Any], Steps]] = {
    AltPattern: Matcher.either,
    AttrPattern: Matcher.attributes,
    CallPattern: Matcher.call,
    DataTypePattern: Matcher.typed,
    DominatorPattern: Matcher.dominator,
    FunctionPattern: Matcher.function,
    IfPattern: Matcher.scope,
    LetPattern: Matcher.scope,
    ShapePattern: Matcher.typed,
    TupleGetItemPattern: Matcher.projection,
    TuplePattern: Matcher.tuple,
    TypePattern: Matcher.typed,
    WildcardPattern: Matcher.redirected,
}
