"""Which nodes of a data flow become one function: TVM's three phases."""

from __future__ import annotations

from collections.abc import Callable

from parpass.ir.operators.op_table import OpPattern
from parpass.relay.transform.fusion.dominators import PostDominators
from parpass.relay.transform.fusion.forward_graph import ForwardGraph

_BROADCAST, _INJECTIVE = OpPattern.BROADCAST, OpPattern.INJECTIVE
_REDUCE, _HEAVY = OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE


class Groups:
    """Sets of nodes, as a union-find forest; a group is named by its last node.

    Attributes:
        pattern: The pattern of each group, by its last node.
        size: The number of nodes of each group, by its last node.
    """

    def __init__(self, graph: ForwardGraph) -> None:
        self.pattern = list(graph.patterns)
        self.size = [1] * len(graph.nodes)
        self._parent = list(range(len(graph.nodes)))

    def last(self, at: int) -> int:
        """Return the last node of a node's group."""
        parent = self._parent
        last = at
        while parent[last] != last:
            last = parent[last]
        while parent[at] != last:
            parent[at], at = last, parent[at]
        return last

    def merge(self, at: int, into: int) -> None:
        """Merge the group of a node into the group of another one."""
        child, target = self.last(at), self.last(into)
        if child == target:
            return
        self._parent[child] = target
        self.size[target] += self.size[child]
        if self.pattern[child] == _HEAVY:
            self.pattern[target] = max(_HEAVY, self.pattern[target])


def fusion_groups(graph: ForwardGraph, opt_level: int, max_depth: int) -> Groups:
    """Return which nodes are to be fused.

    The rules are those of TVM's GraphPartitioner: a node is fused with its immediate
    post-dominator, and with all that is between, if the patterns on the way allow it.
    First heavy operators take elementwise ones behind them; then injective ones follow
    each other; then injective ones join tuples that were fused with their users.

    Each search ends where the group would get too large, so the time is linear in the
    nodes for a given `max_depth`, save for a logarithm in `PostDominators`.

    Args:
        graph: The data flow.
        opt_level: Nothing is fused at 0.
        max_depth: How many nodes a group has at most.
    """
    groups = Groups(graph)
    if opt_level > 0:
        partitioner = _Partitioner(graph, groups, max_depth)
        for phase in range(3):
            partitioner.run(phase)
    return groups


Allows = Callable[[OpPattern, bool], bool]


def _up_to_broadcast(pattern: OpPattern, _is_last: bool) -> bool:
    return pattern <= _BROADCAST


def _up_to_injective(pattern: OpPattern, _is_last: bool) -> bool:
    return pattern <= _INJECTIVE


def _ends_in_heavy(pattern: OpPattern, is_last: bool) -> bool:
    return pattern <= (_HEAVY if is_last else _INJECTIVE)


class _Partitioner:
    """Merges groups, one phase after the other."""

    def __init__(self, graph: ForwardGraph, groups: Groups, max_depth: int) -> None:
        self._users = graph.users
        self._groups = groups
        self._max_depth = max_depth
        self._dominators = PostDominators(graph.users, graph.is_external)

    def run(self, phase: int) -> None:
        patterns = self._groups.pattern
        parents, root = self._dominators.parent, self._dominators.root
        for at, pattern in enumerate(patterns):
            sink = parents[at]
            if pattern == OpPattern.OPAQUE or sink == root:
                continue
            allows = self._rule(at, sink, phase)
            if allows is not None:
                self._fuse(at, sink, allows)

    def _rule(self, at: int, sink: int, phase: int) -> Allows | None:
        """Return which patterns may be between a node and its post-dominator."""
        groups, pattern = self._groups, self._groups.pattern[at]
        if phase == 2:
            joins_tuple = groups.pattern[sink] == OpPattern.TUPLE
            is_fused = groups.pattern[groups.last(sink)] <= _INJECTIVE
            may_join = pattern <= _INJECTIVE and joins_tuple and is_fused
            return _up_to_injective if may_join else None
        if groups.pattern[sink] == OpPattern.TUPLE:
            return None  # in phase 2, if the tuple itself is fused with its user
        uses = self._dominators.pattern[at]
        if pattern == _HEAVY:
            is_first = phase == 0 and uses == OpPattern.ELEMWISE
            return _up_to_broadcast if is_first else None
        if pattern <= _BROADCAST:
            return _ends_in_heavy if uses <= _REDUCE else None
        if pattern in {_INJECTIVE, OpPattern.TUPLE}:
            return _up_to_injective if phase == 1 else None
        return None

    def _fuse(self, at: int, sink: int, allows: Allows) -> None:
        """Merge a node, and all between, into the group of its post-dominator."""
        groups, users = self._groups, self._users
        sink_group = groups.last(sink)
        if groups.last(at) == sink_group:
            return
        seen = {at, sink}
        counted = {groups.last(at), sink_group}
        size = sum(groups.size[group] for group in counted)
        if size > self._max_depth or not allows(groups.pattern[sink_group], True):
            return
        between = [at]
        for node in between:  # which grows
            for user, _ in users[node]:
                if user in seen:
                    continue
                group = groups.last(user)
                if group not in counted:
                    counted.add(group)
                    size += groups.size[group]
                if size > self._max_depth or not allows(groups.pattern[group], False):
                    return
                seen.add(user)
                between.append(user)
        for node in between:
            groups.merge(node, sink)
