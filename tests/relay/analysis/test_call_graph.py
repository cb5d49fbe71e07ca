from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import UnknownGlobalError
from parpass.ir.module import IRModule
from parpass.relay.analysis import CallGraph
from parpass.relay.analysis.call_graph import strong_components
from parpass.relay.expr import Expr, Function, GlobalVar, Tuple, const


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


NAMES = {name: GlobalVar(name) for name in ("main", "a", "b", "c", "even", "odd")}


def module(**calls: str) -> IRModule:
    """Return a module in which each function refers to those that are listed."""
    return IRModule(
        {
            NAMES[name]: Function((), _calling(callees.split()))
            for name, callees in calls.items()
        }
    )


def _calling(names: list[str]) -> Expr:
    return Tuple((const(1), *(NAMES[name]() for name in names)))


GRAPH = CallGraph(
    module(main="a even a", a="b b", b="", c="c b", even="odd", odd="even")
)


def test_references_count_once_for_each_function() -> None:
    assert GRAPH.callees["main"] == ("a", "even")
    assert GRAPH.callers["b"] == ("a", "c")
    assert GRAPH.ref_count("b") == 2
    assert GRAPH.ref_count(NAMES["main"]) == 0
    assert GRAPH.global_call_count("main") == 2


def test_recursion_is_found_through_others_too() -> None:
    recursive = [name for name in GRAPH.callees if GRAPH.is_recursive(name)]
    assert recursive == ["c", "even", "odd"]


def test_entry_points_are_what_no_other_function_refers_to() -> None:
    assert [var.name_hint for var in GRAPH.entry_points()] == ["main", "c"]


def test_components_come_callees_first() -> None:
    names = [{var.name_hint for var in component} for component in GRAPH.sccs()]
    assert {"even", "odd"} in names
    assert names.index({"b"}) < names.index({"a"}) < names.index({"main"})
    assert names.index({"even", "odd"}) < names.index({"main"})


def test_names_that_the_module_lacks_are_left_out_and_asking_is_an_error() -> None:
    graph = CallGraph(IRModule({"main": Function((), GlobalVar("missing")())}))
    assert graph.callees["main"] == ()
    with pytest.raises(UnknownGlobalError, match="mian"):
        graph.ref_count("mian")


def test_the_text_says_who_is_used_how_often() -> None:
    assert GRAPH.print_var("main").splitlines()[0].endswith("<main> #refs = 0")
    assert "<b> #refs = 2" in str(GRAPH)
    assert GRAPH.module is not None


def test_a_long_chain_of_calls() -> None:
    names = [GlobalVar(f"f{at}") for at in range(3_000)]
    mod = IRModule(
        {
            var: Function((), callee())
            for var, callee in zip(names, [*names[1:], names[0]], strict=True)
        }
    )
    assert len(CallGraph(mod).sccs()) == 1
