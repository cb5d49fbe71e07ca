"""Programs in which nodes are replaced by smaller ones, for reduction patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from parpass.errors import IRTypeError
from parpass.ir.dialect import dialect_of
from parpass.ir.module import IRModule
from parpass.ir.module.reachability import called_globals
from parpass.ir.node import (
    Node,
    bindings,
    children,
    outer_children,
    post_order,
    reflection,
    scopes_of,
)
from parpass.ir.reduction_rules import ReductionRules


class Replacement(NamedTuple):
    """A node in a function, and what could stand there instead."""

    function: str
    node: Node
    instead: Node


def rules_of(function: Node) -> ReductionRules:
    """Return the reduction rules of the IR of a function."""
    return dialect_of(function).reduction_rules()


def roots(mod: IRModule) -> list[str]:
    """Return the functions to which no other refers, and whose types may change."""
    functions = mod.functions_by_name
    called = {var.name_hint for f in functions.values() for var in called_globals(f)}
    return [name for name in functions if name not in called]


def replaced(mod: IRModule, places: Iterable[Replacement]) -> IRModule:
    """Return a module with other nodes in some places, itself if that cannot be.

    Of several for one node the first is taken.
    """
    by_function: dict[str, dict[Node, Node]] = {}
    for name, node, instead in places:
        by_function.setdefault(name, {}).setdefault(node, instead)
    may_change = set(roots(mod))
    changed: dict[str, Any] = {}
    for name, others in by_function.items():
        rules = rules_of(mod[name])
        for node, instead in [*others.items()]:
            others |= _variables_without(node, instead, rules)
        try:
            function = _rewritten(mod[name], others, rules)
        except IRTypeError:  # such as a `while` that would never end
            return mod
        changed[name] = rules.closed(function) if name in may_change else function
    return with_functions(mod, changed)


def with_functions(mod: IRModule, changed: Mapping[str, Any]) -> IRModule:
    """Return the module with the named functions replaced."""
    return IRModule.assemble(mod, {**mod.functions_by_name, **changed})


def _variables_without(
    node: Node, instead: Node, rules: ReductionRules
) -> dict[Node, Node]:
    """Return what the variable of a node is where the node's scope stands alone.

    That is the first of the other children that is of the variable's sort: the value of
    a `let`, and the first one in a loop.
    """
    bound = bindings(node)
    if len(bound) != 1 or instead not in scopes_of(node):
        return {}
    [var] = bound
    sort = rules.sort(var)
    if sort is None:
        return {}
    for value in outer_children(node):
        if rules.sort(value) == sort and var not in post_order(value):
            return {var: value}
    return {}


def _rewritten(root: Node, others: Mapping[Node, Node], rules: ReductionRules) -> Node:
    """Return a program in which some nodes are others, which are rewritten as well."""
    new: dict[Node, Any] = {}
    opened: set[Node] = set()
    stack: list[Node] = [root]
    while stack:
        node = stack[-1]
        if node in new:
            stack.pop()
            continue
        below = (others[node],) if node in others else children(node)
        waiting = [child for child in below if child not in new]
        if waiting:
            if node in opened:
                raise IRTypeError("expected no values that are made of themselves")
            opened.add(node)
            stack += reversed(waiting)
            continue
        stack.pop()
        new[node] = new[below[0]] if node in others else _rebuilt(node, new, rules)
    return new[root]


def _rebuilt(node: Node, new: Mapping[Node, Any], rules: ReductionRules) -> Node:
    old = children(node)
    now = [new[child] for child in old]
    if all(one is other for one, other in zip(old, now, strict=True)):
        return node
    return rules.tidied(reflection(type(node)).rebuild(node, now))
