"""Fusion groups: which nodes of a function's data flow become one function.

`ForwardGraph` maps values to the nodes that use them, `PostDominators` tells where all
paths from a value meet again, and `fusion_groups` runs TVM's three phases on both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parpass.ir.node import children
from parpass.ir.op.op_table import Op, OpPattern
from parpass.ir.types import TensorType, TupleType
from parpass.relay.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem

Uses = Sequence[tuple[int, OpPattern]]


class PostDominators:
    """The immediate post-dominator of each node of a graph without cycles.

    That is the lowest common ancestor, in the tree made so far, of the node's users;
    nodes are added from the last to the first, as in TVM.
    Beside its parent, each node knows an ancestor further up, as in the skew-binary
    lists of Myers (1983), so that an ancestor is found in O(log n) steps, where TVM
    walks from parent to parent.

    Args:
        users: The users of each node, which come after it.
        is_external: Whether a path from the node leaves the graph.

    Attributes:
        parent: The immediate post-dominator of each node; `root` where there is none.
        pattern: The widest pattern among the uses from each node to its parent.
        root: The index of a node above all others.
    """

    def __init__(self, users: Sequence[Uses], is_external: Sequence[bool]) -> None:
        self.root = count = len(users)
        self.parent = [count] * (count + 1)
        self.pattern = [OpPattern.OPAQUE] * (count + 1)
        self._depth = [0] * (count + 1)
        self._jump = [count] * (count + 1)
        self._jump_pattern = [OpPattern.OPAQUE] * (count + 1)
        for at in reversed(range(count)):
            self._add(at, () if is_external[at] else users[at])

    def _add(self, at: int, users: Uses) -> None:
        parent, pattern = self.root, OpPattern.OPAQUE
        if users:
            parent, pattern = users[0]
            for user, pattern_of_use in users[1:]:
                pattern = max(pattern, pattern_of_use)
                parent, pattern = self._meet(parent, user, pattern)
        self.parent[at], self.pattern[at] = parent, pattern
        self._depth[at] = self._depth[parent] + 1
        # Two jumps of one length make a jump of twice that length and one more.
        near = self._jump[parent]
        far = self._jump[near]
        depth = self._depth
        if depth[parent] - depth[near] == depth[near] - depth[far]:
            self._jump[at] = far
            self._jump_pattern[at] = max(
                pattern, self._jump_pattern[parent], self._jump_pattern[near]
            )
        else:
            self._jump[at], self._jump_pattern[at] = parent, pattern

    def _meet(self, one: int, other: int, pattern: OpPattern) -> tuple[int, OpPattern]:
        """Return the lowest common ancestor, and the widest pattern on the path."""
        depth, jump = self._depth, self._jump
        if depth[one] < depth[other]:
            one, other = other, one
        while depth[one] > depth[other]:
            far = depth[jump[one]] >= depth[other]
            one, pattern = self._up(one, pattern, far=far)
        while one != other:  # which are of one depth, and so are their jumps
            far = jump[one] != jump[other]
            one, pattern = self._up(one, pattern, far=far)
            other, pattern = self._up(other, pattern, far=far)
        return one, pattern

    def _up(self, at: int, pattern: OpPattern, *, far: bool) -> tuple[int, OpPattern]:
        if far:
            return self._jump[at], max(pattern, self._jump_pattern[at])
        return self.parent[at], max(pattern, self.pattern[at])


# Scalars of these are written into a fused function instead of being passed to it.
_INLINE_DTYPES = frozenset({"int32", "int64", "float32", "float64", "bool"})


class ForwardGraph:
    """Nodes by index, users after what they use, as TVM's IndexedForwardGraph.

    Attributes:
        nodes: The nodes in post-order; operators are not among them.
        index: The index of each node.
        patterns: The fusion pattern of each node.
        users: The users of each node, as pairs of an index and the pattern of the use.
        is_external: Whether each node is used by something that is no data flow: it is
            a function's parameter or result, bound by a `let`, a branch of an `if`.
    """

    def __init__(self, root: Expr) -> None:
        self.nodes = data_flow_order(root)
        self.index = {node: at for at, node in enumerate(self.nodes)}
        count = len(self.nodes)
        self.patterns = [OpPattern.OPAQUE] * count
        self.users: list[list[tuple[int, OpPattern]]] = [[] for _ in range(count)]
        self.is_external = [False] * count
        self.is_external[-1] = True
        for at, node in enumerate(self.nodes):
            self._add(at, node)

    def _add(self, at: int, node: Expr) -> None:
        if isinstance(node, Call):
            self._add_call(at, node)
        elif isinstance(node, Constant):
            if node.data.shape == () and node.data.dtype in _INLINE_DTYPES:
                self.patterns[at] = OpPattern.ELEMWISE
        elif isinstance(node, Tuple):
            self.patterns[at] = OpPattern.TUPLE
            for field in node.fields:
                if isinstance(getattr(field, "checked_type_", None), TensorType):
                    self._use(field, at, OpPattern.INJECTIVE)
                else:
                    self._use_externally(field)
        elif isinstance(node, TupleGetItem):
            self._add_projection(at, node)
        elif not is_left_alone(node):
            for child in children(node):
                self._use_externally(child)

    def _add_call(self, at: int, call: Call) -> None:
        pattern = self.patterns[at] = _pattern_of(call)
        if not isinstance(call.op, Op):
            self._use_externally(call.op)
        if pattern is not OpPattern.BROADCAST:
            for arg in call.args:
                self._use(arg, at, pattern)
            return
        # A broadcast is elementwise to those arguments that have the result's shape.
        result = call.checked_type
        shape = result.shape if isinstance(result, TensorType) else None
        for arg in call.args:
            found = arg.checked_type
            same = isinstance(found, TensorType) and found.shape == shape
            self._use(arg, at, OpPattern.ELEMWISE if same else pattern)

    def _add_projection(self, at: int, node: TupleGetItem) -> None:
        of = node.tuple_value.checked_type
        fields = of.fields if isinstance(of, TupleType) else ()
        if all(isinstance(field, TensorType) for field in fields):
            self.patterns[at] = OpPattern.INJECTIVE
            self._use(node.tuple_value, at, OpPattern.INJECTIVE)
        else:  # a fused function takes and gives tensors and flat tuples of them
            self._use_externally(node.tuple_value)

    def _use(self, value: Expr, user: int, pattern: OpPattern) -> None:
        self.users[self.index[value]].append((user, pattern))

    def _use_externally(self, value: Expr) -> None:
        self.is_external[self.index[value]] = True


def is_left_alone(node: Expr) -> bool:
    """Return whether a node is a function that is fused already, or compiled apart."""
    return isinstance(node, Function) and (
        node.has_nonzero_attr("Primitive") or node.has_nonzero_attr("Compiler")
    )


def data_flow_order(root: Expr) -> list[Expr]:
    """Return the nodes in post-order, without operators and what is left alone."""
    done: set[Expr] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, is_expanded = stack.pop()
        if node in done:
            continue
        if is_expanded or is_left_alone(node):
            done.add(node)
            order.append(node)
            continue
        stack.append((node, True))
        stack += [
            (child, False)
            for child in reversed(children(node))
            if child not in done and not isinstance(child, Op)
        ]
    return order


def _pattern_of(call: Call) -> OpPattern:
    op = call.op
    if not isinstance(op, Op) or op.effect or op.non_computational:
        return OpPattern.OPAQUE
    return op.pattern


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
        """Merge the group of a node into the group of a second node."""
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
    post-dominator, and with all that is between, if the patterns on the path allow it.
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
