"""Rewriting and partitioning of expressions by patterns.

`rewrite` replaces matches until there are none. A round applies the callbacks in order:
for each, the groups of its pattern are found, then one sweep from the inputs to the
root replaces them. The index of the expression is rebuilt only after a replacement, and
a node that did not match is not tried again, since nodes are immutable: the cost of a
round is proportional to its changes.

`partition` makes each match a call of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, overload

from parpass.errors import IRError, IRTypeError
from parpass.errors.warning import warn
from parpass.ir.module import IRModule
from parpass.ir.node import reflection
from parpass.ir.op.op_table import Op
from parpass.ir.structural import structural_equal
from parpass.relay.dataflow_pattern.expr_graph import (
    PARTITIONED,
    ExprGraph,
    ExprTypes,
)
from parpass.relay.dataflow_pattern.grouping import Group, GroupFinder
from parpass.relay.dataflow_pattern.pattern import DFPattern, FunctionPattern
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from parpass.relay.span_filler import with_span_of
from parpass.relay.type_inference.infer import infer_type

__all__ = [
    "DFPatternCallback",
    "partition",
    "rewrite",
]

_MAX_ROUNDS = 100


class DFPatternCallback:
    """A rewrite to subclass: a pattern, and a callback that returns the replacement.

    Set `pattern` in the constructor. The result of `callback` must depend only on its
    arguments.

    Args:
        require_type: Whether to run InferType before the callback, so that `pre` and
            its parts have types.
        rewrite_once: Whether to stop after the first round in which the callback
            changed something.

    Attributes:
        pattern: The pattern.
    """

    pattern: DFPattern | None

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.pattern = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Expr) -> Expr:
        """Return an expression rewritten by this callback; see `rewrite`."""
        return rewrite(self, expr)

    def callback(
        self, pre: Expr, post: Expr, node_map: Mapping[DFPattern, list[Expr]]
    ) -> Expr:
        """Return the replacement of a match.

        Args:
            pre: The match.
            post: The match, with its inputs already rewritten.
            node_map: The rewritten expressions that each pattern matched; several for a
                pattern on the path of a dominator.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no callback(self, pre, post, node_map)"
        )


@overload
def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: Function,
    mod: IRModule | None = None,
) -> Function: ...
@overload
def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: Expr,
    mod: IRModule | None = None,
) -> Expr: ...
def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: Expr,
    mod: IRModule | None = None,
) -> Expr:
    """Replace all matches in an expression, until nothing changes.

    Args:
        callbacks: One or more, tried in this order.
        expr: The expression.
        mod: A module with the functions that the expression refers to.

    Raises:
        IRTypeError: A callback has no pattern, or did not return an expression.
        IRError: The rewriting does not terminate.
    """
    several = [callbacks] if isinstance(callbacks, DFPatternCallback) else callbacks
    return _Rewriter(several, mod).run(expr)


class _Rewriter:
    def __init__(
        self, callbacks: Sequence[DFPatternCallback], mod: IRModule | None
    ) -> None:
        self._finders = {each: GroupFinder(_pattern_of(each)) for each in callbacks}
        self._mod = mod
        self._types = ExprTypes(mod)
        self._graph: ExprGraph | None = None
        self._changed = False

    def run(self, expr: Expr) -> Expr:
        """Return the expression rewritten by all callbacks."""
        for round_ in range(_MAX_ROUNDS):
            before, self._changed = expr, False
            after = expr
            for callback in list(self._finders):
                after = self._apply(callback, after)
            if not self._changed:
                return before
            # The first round that changes something has a second one after it anyhow,
            # and that nearly always changes no object.
            if round_ and structural_equal(before, after, True):
                return after
            expr = after
        names = ", ".join(type(each).__name__ for each in self._finders)
        raise IRError(
            f"expected rewriting to terminate, got changes in {_MAX_ROUNDS} rounds of "
            f"{names}; do they undo each other? rewrite_once=True stops a callback "
            "after its first change"
        )

    def _apply(self, callback: DFPatternCallback, expr: Expr) -> Expr:
        finder = self._finders[callback]
        if not finder.may_find(self._graph_of(expr)):
            return expr  # of which no types are needed
        typed = self._typed(expr) if callback.require_type else expr
        graph = self._graph_of(typed)
        groups = finder.find(graph, self._types)
        if not groups:
            return typed
        result = _replaced(graph, groups, callback)
        if result is not typed:
            self._changed = True
            if callback.rewrite_once:
                del self._finders[callback]
        return result

    def _graph_of(self, expr: Expr) -> ExprGraph:
        if self._graph is None or self._graph.root is not expr:
            self._graph = ExprGraph(expr)
        return self._graph

    def _typed(self, expr: Expr) -> Expr:
        is_typed = getattr(expr, "checked_type_", None) is not None
        return expr if is_typed else infer_type(expr, self._mod)


def _pattern_of(callback: DFPatternCallback) -> DFPattern:
    pattern = getattr(callback, "pattern", None)
    if not isinstance(pattern, DFPattern):
        raise IRTypeError(
            f"expected a pattern in {type(callback).__name__}.pattern, got {pattern!r}"
        )
    return pattern


def _replaced(
    graph: ExprGraph, groups: Sequence[Group], callback: DFPatternCallback
) -> Expr:
    by_root = {group.root: group for group in groups}
    new: dict[Expr, Expr] = {}
    for pre in graph.order:
        post = with_new_children(pre, new) if new else pre
        group = by_root.get(pre)
        if group is not None:
            node_map = {
                pattern: [new.get(expr, expr) for expr in matched]
                for pattern, matched in group.node_map.items()
            }
            result = cast("object", callback.callback(pre, post, node_map))
            if not isinstance(result, Expr):
                raise IRTypeError(
                    f"expected an expression from {type(callback).__name__}.callback, "
                    f"got {result!r}"
                )
            post = with_span_of(pre, result)
        if post is not pre:
            new[pre] = post
    return new.get(graph.root, graph.root)


def with_new_children(expr: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """Return a node with its children replaced, itself if none is."""
    shape = reflection(type(expr))
    old = shape.children(expr)
    if new.keys().isdisjoint(old):
        return expr
    return shape.rebuild(expr, [new.get(child, child) for child in old])


def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], bool] = bool,
) -> Expr:
    """Move each match into a function, and call it there.

    The matches of the pattern's leaves become arguments, in order, except for constants
    that the pattern asks for. The function has the attribute `PartitionedFromPattern`,
    which lists its operators.

    Args:
        pattern: The pattern.
        expr: The expression.
        attrs: More attributes for the functions.
        check: Called with each match; if it returns false, the match stays. `bool`
            accepts everything, including comparisons.
    """
    if isinstance(pattern, FunctionPattern):
        warn(
            "a function that is not called is not partitioned; match its call",
            RuntimeWarning,
        )
        return expr
    graph = ExprGraph(expr)
    groups = GroupFinder(pattern).find(graph, ExprTypes())
    numbers = {group.root: number for number, group in enumerate(groups)}
    new: dict[Expr, Expr] = {}
    for pre in graph.order:
        post = with_new_children(pre, new)
        if pre in numbers and (check is bool or check(pre)):
            number = numbers[pre]
            function = _function_of(groups[number], number, attrs or {})
            args = tuple(new.get(arg, arg) for arg in groups[number].inputs)
            post = Call(function, args, span=getattr(pre, "span", None))
        if post is not pre:
            new[pre] = post
    return new.get(expr, expr)


def _function_of(group: Group, number: int, attrs: Mapping[str, Any]) -> Function:
    # Where InferType has run, it can run again: parameters are annotated then.
    is_typed = getattr(group.root, "checked_type_", None) is not None
    new: dict[Expr, Expr] = {}
    for at, arg in enumerate(group.inputs):
        found = arg.checked_type if is_typed else None
        new[arg] = Var(f"FunctionVar_{number}_{at}", found)
    params = [new[arg] for arg in group.inputs]
    for node in group.inside:
        changed = with_new_children(node, new)
        if changed is not node:
            new[node] = changed
    body = new.get(group.root, group.root)
    name = "".join(map(_label, group.inside))
    return Function(
        tuple(cast("list[Var]", params)), body, attrs={PARTITIONED: name, **attrs}
    )


def _label(node: Expr) -> str:
    match node:
        case Call():
            return f"{node.op.name}_" if isinstance(node.op, Op) else "Call_"
        case Function():
            return "Function"
        case TupleGetItem():
            return f"TupleGetItem{node.index}_"
        case Tuple() | If() | Let():
            return f"{type(node).__name__}_"
        case _:
            return ""
