from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.op.op_table import OpPattern
from parpass.relay.transform.fusion.fusion_groups import PostDominators
from tests.support.profiles import examples

Users = list[list[tuple[int, OpPattern]]]
PATTERNS = [OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE]


@dataclass
class Flow:
    users: Users
    is_external: list[bool]

    @property
    def nodes(self) -> list[int]:
        return list(range(len(self.users)))


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    count = draw(st.integers(1, 12))
    users: Users = []
    for at in range(count):
        later = st.tuples(st.integers(at + 1, count - 1), st.sampled_from(PATTERNS))
        users.append(draw(st.lists(later, max_size=3)) if at + 1 < count else [])
    is_external = [draw(st.integers(0, 9)) == 0 for _ in range(count)]
    is_external[-1] = True
    return Flow(users, is_external)


def paths(flow: Flow, at: int) -> list[list[int]]:
    """Return the ways from a node out of the graph; -1 stands for the outside."""
    if flow.is_external[at] or not flow.users[at]:
        return [[at, -1]]
    return [[at, *path] for user, _ in flow.users[at] for path in paths(flow, user)]


@given(flow=flows())
@examples(5)
def test_the_parent_is_the_first_node_that_all_paths_meet(flow: Flow) -> None:
    found = PostDominators(flow.users, flow.is_external)
    for at in flow.nodes:
        all_paths = paths(flow, at)
        common = set(all_paths[0][1:]).intersection(*all_paths[1:])
        nearest = next(node for node in all_paths[0][1:] if node in common)
        assert found.parent[at] == (found.root if nearest == -1 else nearest)


@given(flow=flows())
@examples(5)
def test_the_pattern_is_the_widest_on_the_way(flow: Flow) -> None:
    found = PostDominators(flow.users, flow.is_external)
    for at in flow.nodes:
        parent = found.parent[at]
        if parent == found.root:
            continue
        between, widest = [at], OpPattern.ELEMWISE
        for node in between:
            for user, pattern in flow.users[node]:
                widest = max(widest, pattern)
                if user != parent and user not in between:
                    between.append(user)
        assert found.pattern[at] == widest
