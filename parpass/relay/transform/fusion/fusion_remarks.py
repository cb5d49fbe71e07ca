"""Remarks of FuseOps: what was fused, and why not with what comes next."""

from __future__ import annotations

from typing import Any, cast

from parpass.fork_safety import cached_property
from parpass.ir.op.op_table import Op, OpPattern
from parpass.relay.expr import Call, Expr, Tuple
from parpass.relay.transform.fusion.fusion_groups import (
    ForwardGraph,
    Groups,
    PostDominators,
)
from parpass.transform import PassContext

_HEAVY = OpPattern.OUT_ELEMWISE_FUSABLE


def remark_on_fusion(
    graph: ForwardGraph,
    groups: Groups,
    ctx: PassContext,
    *,
    opt_level: int,
    max_depth: int,
) -> None:
    """Make the remarks on the groups of a function, in the order of their last nodes.

    Args:
        graph: The data flow.
        groups: The groups that were found in it.
        ctx: Takes the remarks.
        opt_level: The level of fusion.
        max_depth: How many nodes a group has at most.
    """
    if not ctx.remarks_enabled:
        return
    calls: dict[int, list[Call]] = {}  # by the last node of their group
    for at, node in enumerate(graph.nodes):
        if _is_computed(node):
            calls.setdefault(groups.last(at), []).append(cast("Call", node))
    reasons = _Reasons(graph, groups, opt_level, max_depth)
    for at, fused in sorted(calls.items()):
        ops = [cast("Op", call.op).name for call in fused]
        # What a pass has put in has no place of its own.
        span = next((call.span for call in reversed(fused) if call.span), None)
        if len(fused) > 1:
            told = ", ".join(ops)
            ctx.remark("passed", "fused operators", span, name="Fused", ops=told)
        if reasons.is_result(at):
            continue
        why, following = reasons.why_not(at)
        message = f"not fused with the next operator: {why}"
        values: dict[str, Any] = {"op": ops[-1]}
        if following is not None:
            values["next"] = _described(following)
            place = getattr(following, "span", None)
            values |= {} if place is None else {"at": place}
        ctx.remark("missed", message, span, name="NotFused", **values)


class _Reasons:
    """Tells why a group ends where it ends, by the rules of `fusion_groups`."""

    def __init__(
        self, graph: ForwardGraph, groups: Groups, opt_level: int, max_depth: int
    ) -> None:
        self._graph, self._groups = graph, groups
        self._opt_level, self._max_depth = opt_level, max_depth

    @cached_property
    def _dominators(self) -> PostDominators:
        """The post-dominators, which a function with one group is not asked for."""
        return PostDominators(self._graph.users, self._graph.is_external)

    def is_result(self, at: int) -> bool:
        """Return whether nothing comes after a node, but for a tuple of results."""
        users = [user for user, _ in self._graph.users[at]]
        nodes, all_users = self._graph.nodes, self._graph.users
        return all(
            isinstance(nodes[one], Tuple) and not all_users[one] for one in users
        )

    def why_not(self, at: int) -> tuple[str, Expr | None]:
        """Return why the group of a last node has no more, and what comes next."""
        graph, sink = self._graph, self._dominators.parent[at]
        if graph.is_external[at]:
            return "its value is also used outside of the data flow", None
        if sink == self._dominators.root:
            return "the paths of its users do not meet in one operator", None
        following = graph.nodes[sink]
        if isinstance(following, Tuple) and not graph.users[sink]:
            return "the paths of its users meet in a tuple of results", None
        why = self._why_never(at, sink) or self._why_not_by_pattern(at, sink)
        return why, following

    def _why_never(self, at: int, sink: int) -> str | None:
        """Return why two nodes are not fused whatever rules there are for patterns."""
        groups, pattern = self._groups, self._graph.patterns[sink]
        if self._opt_level == 0:
            return "nothing is fused at level 0"
        if groups.pattern[at] == OpPattern.OPAQUE:
            return "it is opaque, and never fused"
        if pattern == OpPattern.OPAQUE:
            return "the next one is opaque, and never fused"
        size = groups.size[at] + groups.size[groups.last(sink)]
        if size > self._max_depth:
            limit = f"a function has at most {self._max_depth} nodes"
            return f"{limit}, and both have {size}"
        if pattern == OpPattern.TUPLE:
            return "the next one is a tuple that is not fused with its user"
        return None

    def _why_not_by_pattern(self, at: int, sink: int) -> str:
        groups, uses = self._groups, self._dominators.pattern[at]
        own, then = groups.pattern[at], groups.pattern[groups.last(sink)]
        if own != _HEAVY and then == _HEAVY:
            return "the next one fuses only with elementwise operators after it"
        if own != _HEAVY:
            return f"no rule joins {_name(max(uses, own))} and {_name(then)} operators"
        if then >= _HEAVY:
            return "each needs a loop nest of its own"
        if then > OpPattern.BROADCAST:
            return (
                f"the next one is {_name(then)}, and only elementwise operators fuse "
                "after this one"
            )
        return f"its result is used in another shape ({_name(uses)})"


def _is_computed(node: Expr) -> bool:
    return (
        isinstance(node, Call)
        and isinstance(node.op, Op)
        and not node.op.non_computational
        and node.op.name != "annotation.stop_fusion"
    )


def _described(node: Expr) -> str:
    if isinstance(node, Call):
        return node.op.name if isinstance(node.op, Op) else "a call of a function"
    return f"a {type(node).__name__}"


def _name(pattern: OpPattern) -> str:
    return pattern.name.lower()
