from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parpass.relay.analysis.components import strong_components


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, list[int]]:
    count = draw(st.integers(0, 8))
    nodes = st.lists(st.integers(0, count - 1), max_size=4) if count else st.just([])
    return {node: draw(nodes) for node in range(count)}


def reachable(edges: dict[int, list[int]], start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        fresh = set(edges[waiting.pop()]) - found
        found |= fresh
        waiting += fresh
    return found


@given(graphs())
def test_components_are_what_reaches_each_other(edges: dict[int, list[int]]) -> None:
    found = strong_components(edges)
    below = {node: reachable(edges, node) for node in edges}
    expected = {
        frozenset(other for other in below[node] if node in below[other])
        for node in edges
    }
    assert {frozenset(component) for component in found} == expected
    assert sorted(node for component in found for node in component) == [*edges]


@given(graphs())
def test_a_component_comes_after_those_it_leads_to(edges: dict[int, list[int]]) -> None:
    place = {
        node: at for at, each in enumerate(strong_components(edges)) for node in each
    }
    assert all(place[to] <= place[node] for node in edges for to in edges[node])


def test_a_long_chain_needs_no_recursion() -> None:
    count = 5_000
    chain = {node: [node + 1] for node in range(count)} | {count: [0]}
    assert strong_components(chain) == [[*range(count + 1)]]
