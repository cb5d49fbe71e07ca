"""Partitioning by patterns: each match becomes a call of a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from parpass.errors.warning import warn
from parpass.ir.operators.op_table import Op
from parpass.relay.dataflow_pattern.expr_graph import ExprGraph
from parpass.relay.dataflow_pattern.expr_types import ExprTypes
from parpass.relay.dataflow_pattern.grouping import PARTITIONED, Group, find_groups
from parpass.relay.dataflow_pattern.pattern import DFPattern, FunctionPattern
from parpass.relay.dataflow_pattern.rewriting import with_new_children
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)


def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], bool] = bool,
) -> Expr:
    """Return an expression with each match put into a function, which is called.

    What the leaves of the pattern match is passed to the function, in their order,
    but for constants that the pattern asks for. The function has the attribute
    `PartitionedFromPattern`, which lists the operators in it.

    Args:
        pattern: The pattern.
        expr: The expression.
        attrs: More attributes for the functions.
        check: Called with what matched; if it returns false, that stays as it is.
            `bool` takes everything, comparisons too.
    """
    if isinstance(pattern, FunctionPattern):
        warn(
            "a function that is not called is not partitioned; match its call",
            RuntimeWarning,
        )
        return expr
    graph = ExprGraph(expr)
    groups = find_groups(pattern, graph, ExprTypes(), set())
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
