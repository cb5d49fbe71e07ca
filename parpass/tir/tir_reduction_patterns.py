"""Smaller modules to try in place of one: the ways in which loop programs can shrink.

See `parpass/relay/reducer/` for those of Relay's functions. A function that no
other refers to may lose parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.node import Node, children, post_order, reflection
from parpass.ir.reachability import called_globals
from parpass.tir.data_type import data_type
from parpass.tir.expr import Let, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import const
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, StringImm
from parpass.tir.stmt import Evaluate, For, IfThenElse, LetStmt, SeqStmt, Stmt, is_no_op
from parpass.transform import ReductionPattern


class Replacement(NamedTuple):
    """A node in a function, and what could stand there instead."""

    function: str
    node: Node
    instead: Node


def loop_size(mod: IRModule) -> tuple[int, ...]:
    """Return how large the loop programs of a module are.

    The numbers of functions, of nodes that are made of others, of constants but 0 and
    1, of all nodes, and of attributes.
    """
    functions = _functions(mod).values()
    nodes = [node for function in functions for node in post_order(function)]
    return (
        len(functions),
        sum(bool(children(node)) for node in nodes),
        sum(isinstance(node, _CONSTANTS) and not _is_small(node) for node in nodes),
        len(nodes),
        sum(len(function.attrs or ()) for function in functions),
    )


class DropStatements:
    """Takes statements out."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the statements, the outermost first."""
        return [
            Replacement(name, node, _NOTHING)
            for name, function in _functions(mod).items()
            for node in reversed(post_order(function.body))
            if isinstance(node, Stmt) and not is_no_op(node)
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module without these."""
        return _replaced(mod, items)


class Unwrap:
    """Replaces statements by their bodies: loops by their first round, for one."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the statements and their bodies, the outermost first."""
        return [
            Replacement(name, node, inner)
            for name, function in _functions(mod).items()
            for node in reversed(post_order(function.body))
            if isinstance(node, Stmt) and not isinstance(node, SeqStmt)
            for inner in children(node)
            if isinstance(inner, Stmt)
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module with the first body of each of these in its place."""
        return _replaced(mod, items)


class EvaluateAlone:
    """Replaces statements by an expression in them, which is evaluated alone."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the statements and their expressions, the outermost first."""
        return [
            Replacement(name, node, Evaluate(inner))
            for name, function in _functions(mod).items()
            for node in reversed(post_order(function.body))
            if isinstance(node, Stmt) and not isinstance(node, Evaluate)
            for inner in children(node)
            if isinstance(inner, PrimExpr) and not isinstance(inner, _LEAVES)
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module with the first expression of each of these in its place."""
        return _replaced(mod, items)


class DescendInto:
    """Replaces expressions by one of what they are made of, of the same dtype."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the expressions, the outermost first, and what may replace each."""
        return [
            Replacement(name, node, inner)
            for name, node in _exprs(mod)
            for inner in children(node)
            if isinstance(inner, PrimExpr) and inner.dtype == node.dtype
            if not (isinstance(node, Let) and inner is node.var)
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module with the first part of each of these in its place."""
        return _replaced(mod, items)


class MakeZero:
    """Replaces expressions by 0, or by nothing but 0s."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the expressions, the outermost first."""
        return [
            Replacement(name, node, const(0, node.dtype))
            for name, node in _exprs(mod)
            if not _is_small(node) and not isinstance(node, Var)
            if data_type(node.dtype).code not in ("handle", "void")
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module with 0 in the place of each of these."""
        return _replaced(mod, items)


class DropParameters:
    """Takes parameters out that are not used."""

    many = True

    def items(self, mod: IRModule) -> Sequence[tuple[str, Var]]:
        """Return the names of functions, and parameters."""
        functions = _functions(mod)
        every = mod.functions_by_name.values()
        called = {var.name_hint for one in every for var in called_globals(one)}
        found: list[tuple[str, Var]] = []
        for name, function in functions.items():
            used = {*post_order(function.body)}
            for param in function.params:
                parts = {param, function.buffer_map.get(param, param)}
                if name not in called and not parts & used:
                    found.append((name, param))
        return found

    def without(self, mod: IRModule, items: Sequence[tuple[str, Var]]) -> IRModule:
        """Return the module without these parameters."""
        changed: dict[str, Any] = {}
        for name, param in items:
            function: PrimFunc = changed.get(name) or mod[name]
            params = tuple(one for one in function.params if one is not param)
            mapped = {k: v for k, v in function.buffer_map.items() if k is not param}
            changed[name] = structs.replace(function, params=params, buffer_map=mapped)
        return IRModule.assemble(mod, {**mod.functions_by_name, **changed})


def loop_reductions() -> list[ReductionPattern]:
    """Return all ways into loop programs, those that take most away first."""
    return [
        DropStatements(),
        Unwrap(),
        EvaluateAlone(),
        DescendInto(),
        MakeZero(),
        DropParameters(),
    ]


_CONSTANTS = (IntImm, FloatImm, StringImm)
_LEAVES = (Var, *_CONSTANTS)
_NOTHING = Evaluate(0)


def _functions(mod: IRModule) -> dict[str, PrimFunc]:
    functions = mod.functions_by_name.items()
    return {name: one for name, one in functions if isinstance(one, PrimFunc)}


def _exprs(mod: IRModule) -> list[tuple[str, PrimExpr]]:
    return [
        (name, node)
        for name, function in _functions(mod).items()
        for node in reversed(post_order(function.body))
        if isinstance(node, PrimExpr)
    ]


def _is_small(node: Node) -> bool:
    return isinstance(node, IntImm | FloatImm) and node.value in (0, 1)


def _replaced(mod: IRModule, places: Sequence[Replacement]) -> IRModule:
    """Return a module with other nodes in some places, itself if that cannot be."""
    by_function: dict[str, dict[Node, Node]] = {}
    for name, node, instead in places:
        by_function.setdefault(name, {}).setdefault(node, instead)
    changed: dict[str, Any] = {}
    for name, others in by_function.items():
        for node, instead in [*others.items()]:
            others |= _without_variable(node, instead)
        try:
            changed[name] = _rewritten(mod[name], others)
        except IRTypeError:  # such as a `while` that would never end
            return mod
    return IRModule.assemble(mod, {**mod.functions_by_name, **changed})


def _without_variable(node: Node, instead: Node) -> dict[Node, Node]:
    """Return what the variable of a statement is where its body stands alone."""
    if isinstance(node, For) and instead is node.body:
        var, value = node.loop_var, node.min
    elif isinstance(node, LetStmt | Let) and instead is node.body:
        var, value = node.var, node.value
    else:
        return {}
    if value.dtype != var.dtype or var in post_order(value):
        return {}
    return {var: value}


def _rewritten(root: Node, others: Mapping[Node, Node]) -> Node:
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
        new[node] = new[below[0]] if node in others else _rebuilt(node, new)
    return new[root]


def _rebuilt(node: Node, new: Mapping[Node, Any]) -> Node:
    """Return a node with other children, less those that do nothing any more."""
    old = children(node)
    now = [new[child] for child in old]
    if all(one is other for one, other in zip(old, now, strict=True)):
        return node
    if isinstance(node, SeqStmt):
        left = [cast("Stmt", one) for one in now if not is_no_op(one)]
        return left[0] if len(left) == 1 else SeqStmt(left) if left else _NOTHING
    made = reflection(type(node)).rebuild(node, now)
    if isinstance(made, IfThenElse) and is_no_op(made.else_case):
        return structs.replace(made, else_case=None)
    return made
