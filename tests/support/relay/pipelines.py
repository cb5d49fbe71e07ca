"""Pipelines on Relay, generated: shipped passes, and some that are hard to run."""

from __future__ import annotations

from hypothesis import strategies as st

from parpass import relay
from parpass.transform import Pass, Sequential
from tests.support.relay.passes import (
    LAYOUTS,
    AddUp,
    Average,
    Increment,
    Loosen,
    Rename,
    Retype,
    Reverse,
    Weigh,
)

_SHIPPED = (
    relay.transform.InferType,
    relay.transform.FoldConstant,
    relay.transform.SimplifyInference,
    relay.transform.EliminateCommonSubexpr,
    relay.transform.DeadCodeElimination,
    relay.transform.RemoveUnusedFunctions,
)


def relay_pipelines() -> st.SearchStrategy[Sequential]:
    """Generate pipelines of the shipped passes, and two of our own."""
    made: st.SearchStrategy[Pass] = st.sampled_from([*_SHIPPED, Rename, Reverse]).map(
        lambda make: make()
    )
    return st.builds(Sequential, st.lists(made, min_size=1, max_size=6))


def hard_pipelines() -> st.SearchStrategy[Sequential]:
    """Generate pipelines of passes that change types, and look at values, as well."""
    made: st.SearchStrategy[Pass] = st.sampled_from(
        [*_SHIPPED, Rename, Reverse, Loosen, AddUp, Increment, Average]
    ).map(lambda make: make())
    weigh = st.builds(Weigh, st.sampled_from(LAYOUTS))
    names = st.lists(st.sampled_from(["f0", "f1", "f2"]), min_size=1, max_size=2)
    retype: st.SearchStrategy[Pass] = names.map(lambda given: Retype(*given))
    one = st.one_of(made, made, made, weigh, retype)
    return st.builds(Sequential, st.lists(one, min_size=1, max_size=6))
