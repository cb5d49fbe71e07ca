"""How a process may be set for a run, generated."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.drifting import Drift


def drifts() -> st.SearchStrategy[Drift]:
    """Generate settings."""
    few = st.one_of(st.none(), st.integers(1, 9))
    return st.builds(
        Drift,
        variable=st.one_of(st.none(), st.sampled_from("ab")),
        folder=st.booleans(),
        precision=few,
        digits=few,
        deeper=st.sampled_from([0, 0, 100]),
        answer=few,
        attribute=few,
        level=st.integers(0, 3),
        reloads=st.lists(st.integers(0, 3), max_size=2),
    )
