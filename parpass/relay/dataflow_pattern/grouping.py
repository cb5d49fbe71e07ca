"""Groups: the parts of an expression that match a pattern, none inside of another.

Users come before their operands, so of two overlapping matches the outer one is taken.
A part whose inner values have other users is not a group: replacing it would compute
them twice. The root of a pattern gives a key, by which most nodes are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from parpass.ir.node import children
from parpass.ir.op.op_table import Op
from parpass.relay.dataflow_pattern.expr_graph import (
    ExprGraph,
    ExprTypes,
    RootKey,
    nodes_of,
)
from parpass.relay.dataflow_pattern.leaves import ASSOCIATED
from parpass.relay.dataflow_pattern.matching import Matcher, NodeMap
from parpass.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    sub_patterns,
)
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)

_KINDS: dict[type[DFPattern], type[Expr]] = {
    ConstantPattern: Constant,
    FunctionPattern: Function,
    IfPattern: If,
    LetPattern: Let,
    TupleGetItemPattern: TupleGetItem,
    TuplePattern: Tuple,
    VarPattern: Var,
}


def root_keys(pattern: DFPattern) -> frozenset[RootKey] | None:
    """Return what an expression must be for a match; None if it may be anything."""
    keys: set[RootKey] = set()
    seen: set[DFPattern] = set()
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case CallPattern():
                keys |= _call_keys(part)
            case ExprPattern():
                keys.add(type(part.expr))
            case AltPattern():
                waiting += (part.left, part.right)
            case DominatorPattern():
                waiting.append(part.child)
            case AttrPattern() | TypePattern() | DataTypePattern() | ShapePattern():
                waiting.append(part.pattern)
            case _ if type(part) in _KINDS:
                keys.add(_KINDS[type(part)])
            case _ if part.inputs:  # a wildcard that is redirected
                waiting += part.inputs
            case _:
                return None
    return frozenset(keys)


def _call_keys(pattern: CallPattern) -> set[RootKey]:
    callee = pattern.op
    while isinstance(callee, AttrPattern):
        callee = callee.pattern
    if isinstance(callee, AltPattern):
        return _call_keys(CallPattern(callee.left, None)) | _call_keys(
            CallPattern(callee.right, None)
        )
    if not isinstance(callee, ExprPattern) or not isinstance(callee.expr, Op):
        return {Call}
    other = ASSOCIATED.get(callee.expr.name)
    return {callee.expr, Op.get(other)} if other else {callee.expr}


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A stretch that matched.

    Attributes:
        root: Its result.
        node_map: What each pattern matched.
        inputs: What comes in from outside, in the order of the pattern.
        inside: The other nodes that are reached from the root, inputs first.
    """

    root: Expr
    node_map: NodeMap
    inputs: list[Expr]
    inside: list[Expr]


class GroupFinder:
    """Finds the groups that a pattern gives, in one expression after another.

    Args:
        pattern: The pattern.
    """

    def __init__(self, pattern: DFPattern) -> None:
        self._pattern = pattern
        self._parts = sub_patterns(pattern)
        self._keys = root_keys(pattern)
        # Whether a dominator matches depends on the users, too.
        self._is_local = not any(isinstance(it, DominatorPattern) for it in self._parts)
        # Nodes that are known not to match, whatever is around them.
        self._hopeless: set[Expr] = set()

    def may_find(self, graph: ExprGraph) -> bool:
        """Return whether an expression has nodes that may be the root of a group."""
        return graph.has_any(self._keys)

    def find(self, graph: ExprGraph, types: ExprTypes) -> list[Group]:
        """Return the groups of an expression.

        Args:
            graph: The expression.
            types: Tells the types of its nodes.
        """
        taking, matcher = _Taking(self._parts, graph), Matcher(graph, types)
        hopeless = self._hopeless
        for node in graph.candidates(self._keys):
            if node in taking.taken or node in hopeless or node in graph.partitioned:
                continue
            if matcher.match(self._pattern, node):
                taking.take(node, matcher.node_map)
            elif self._is_local:
                hopeless.add(node)
        return taking.groups


class _Taking:
    def __init__(self, parts: list[DFPattern], graph: ExprGraph) -> None:
        self.groups: list[Group] = []
        self.taken: set[Expr] = set()
        self._parts = parts
        self._graph = graph

    def take(self, root: Expr, node_map: NodeMap) -> None:
        """Note the group of a match, unless it overlaps or is used from outside."""
        inputs = self._inputs(node_map)
        inside = _reached(root, inputs)
        own = set(inside)
        for node in inside:
            if isinstance(node, Op | Function | Constant | GlobalVar):
                continue  # these may be shared
            if node in self.taken:
                return
            if node is not root and self._escapes(node, root, own):
                return
        self.taken |= own
        self.groups.append(Group(root, node_map, list(inputs), inside))

    def _escapes(self, node: Expr, root: Expr, own: set[Expr]) -> bool:
        graph = self._graph
        return any(
            user not in own and not graph.dominates(root, user)
            for user in graph.users[node]
        )

    def _inputs(self, node_map: Mapping[DFPattern, list[Expr]]) -> dict[Expr, None]:
        fuzzy = _inside_of_fuzzy(self._parts, node_map)
        inputs: dict[Expr, None] = {}
        for part in self._parts:
            for matched in node_map.get(part, ()):
                for expr in _entries(part, matched):
                    is_input = expr not in fuzzy and not isinstance(expr, Op | Function)
                    if is_input and not _is_embedded(part, expr):
                        inputs.setdefault(expr)
        return inputs


def _inside_of_fuzzy(
    parts: list[DFPattern], node_map: Mapping[DFPattern, list[Expr]]
) -> set[Expr]:
    """Return what is inside of a group, though a leaf of the pattern matched it."""
    inside: set[Expr] = set()
    for part in parts:
        if isinstance(part, DominatorPattern):
            inside.update(node_map.get(part.parent, ()), node_map.get(part.path, ()))
        elif isinstance(part, FunctionPattern):
            for function in node_map.get(part, ()):
                inside.update(nodes_of(function))
    return inside


def _entries(part: DFPattern, matched: Expr) -> Iterator[Expr]:
    """Give what may come into a group where a part of the pattern matched."""
    if isinstance(part, TuplePattern) and part.fields is None:
        yield from cast("Tuple", matched).fields
    elif isinstance(part, CallPattern) and part.args is None:
        yield from cast("Call", matched).args
    elif not part.inputs:
        yield matched


def _is_embedded(part: DFPattern, expr: Expr) -> bool:
    """Return whether a constant belongs to the pattern, instead of coming in."""
    if not isinstance(expr, Constant):
        return False
    if isinstance(part, ExprPattern):
        return isinstance(part.expr, Constant)
    return isinstance(part, ConstantPattern)


def _reached(root: Expr, inputs: Mapping[Expr, None]) -> list[Expr]:
    """Return the nodes from the inputs, these left out, to the root."""
    done: set[Expr] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [] if root in inputs else [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in done:
            done.add(node)
            stack.append((node, True))
            below = [child for child in children(node) if child not in inputs]
            stack += [(child, False) for child in reversed(below)]
    return order
