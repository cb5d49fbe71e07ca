"""The post-dominator tree of a data flow: where all paths from a value meet again."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.operators.op_table import OpPattern

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
        """Return the lowest common ancestor, and the widest pattern on the way."""
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
