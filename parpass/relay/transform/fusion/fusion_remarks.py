"""Remarks of FuseOps: what was fused, and why not with what comes next."""

from __future__ import annotations

from typing import cast

from parpass.ir.op_table import Op, OpPattern
from parpass.relay.expr import Call, Expr
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
        if not graph.users[at]:
            continue  # a result, so that nothing comes next
        why, following = reasons.why_not(at)
        message = f"not fused with what comes next: {why}"
        values = {} if following is None else {"next": following}
        ctx.remark("missed", message, span, name="NotFused", op=ops[-1], **values)


class _Reasons:
    """Tells why a group ends where it ends, by the rules of `fusion_groups`."""

    def __init__(
        self, graph: ForwardGraph, groups: Groups, opt_level: int, max_depth: int
    ) -> None:
        self._graph, self._groups = graph, groups
        self._opt_level, self._max_depth = opt_level, max_depth
        self._dominators = PostDominators(graph.users, graph.is_external)

    def why_not(self, at: int) -> tuple[str, str | None]:
        """Return why the group of a last node has no more, and what comes next."""
        graph, groups, dominators = self._graph, self._groups, self._dominators
        sink = dominators.parent[at]
        if graph.is_external[at]:
            return "its value is also used outside of the data flow", None
        if sink == dominators.root:
            return "the paths of its users do not meet in one operator", None
        following = _described(graph.nodes[sink])
        if self._opt_level == 0:
            return "nothing is fused at level 0", following
        own, then = groups.pattern[at], groups.pattern[groups.last(sink)]
        if own == OpPattern.OPAQUE:
            return "it is opaque: it is never fused", following
        if graph.patterns[sink] == OpPattern.OPAQUE:
            return "that is opaque: it is never fused", following
        size = groups.size[at] + groups.size[groups.last(sink)]
        if size > self._max_depth:
            limit = f"a function has at most {self._max_depth} nodes"
            return f"{limit}, and both have {size}", following
        if graph.patterns[sink] == OpPattern.TUPLE:
            return "that is a tuple which is not fused with its user", following
        if own == _HEAVY:
            return self._why_not_after_heavy(at, then), following
        if then == _HEAVY:
            return "that takes only elementwise operators behind it", following
        widest = _name(max(dominators.pattern[at], own))
        return f"no rule joins {widest} and {_name(then)} operators", following

    def _why_not_after_heavy(self, at: int, then: OpPattern) -> str:
        if then >= _HEAVY:
            return "each needs a loop nest of its own"
        if then > OpPattern.BROADCAST:
            return f"that is {_name(then)}, and only elementwise operators follow it"
        uses = self._dominators.pattern[at]
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
