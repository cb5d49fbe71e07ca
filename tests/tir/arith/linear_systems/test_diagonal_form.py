"""Matrices become diagonal by steps that are taken back within the ints."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass.tir.arith.linear_systems.diagonal_form import diagonal_form

ENTRIES = st.integers(-6, 6)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    """Return rows, and how many columns there are."""
    width = draw(st.integers(1, 4))
    row = st.lists(ENTRIES, min_size=width, max_size=width)
    return draw(st.lists(row, max_size=4)), width


@settings(max_examples=40)
@given(matrices())
def test_a_matrix_is_diagonal_between_two_others_that_have_inverses(
    made: tuple[list[list[int]], int],
):
    rows, width = made
    form = diagonal_form(rows, width)
    given_rows = np.array(rows, dtype=int).reshape(len(rows), width)
    found = np.array(form.matrix, dtype=int).reshape(len(rows), width)
    left = np.array(form.left, dtype=int).reshape(len(rows), len(rows))
    assert np.array_equal(left @ given_rows @ np.array(form.right), found)
    assert not found[~np.eye(*found.shape, dtype=bool)].any()
    assert np.array_equal(
        np.array(form.right) @ np.array(form.right_inverse), np.eye(width, dtype=int)
    )
    if rows:
        assert abs(round(np.linalg.det(left))) == 1
    assert form.diagonal(4) == 0
