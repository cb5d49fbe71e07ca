"""Ranges are made by the numbers that Python's `range` takes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import parpass
from parpass import structural_equal, tir
from parpass.tir.stmt_functor import substitute


def ends(found: Any) -> tuple[Any, Any]:
    return found.min.value, found.extent.value


def test_a_range_is_made_by_its_begin_and_its_end():
    assert ends(tir.Range(2, 5)) == (2, 3)
    assert ends(tir.Range(4)) == (0, 4)
    assert ends(tir.Range.from_min_extent(2, 5)) == (2, 5)
    assert ends(tir.Range(min=2, extent=5)) == (2, 5)
    made = tir.Range(2, 5)
    assert tir.Range(made) is made
    with pytest.raises(TypeError):
        tir.Range(1, 2, 3, 4)


def test_what_is_made_of_a_range_keeps_its_numbers():
    n = tir.Var("n")
    given = tir.Range(2, n)
    assert ends(pickle.loads(pickle.dumps(tir.Range(2, 5)))) == (2, 3)
    read = parpass.load_json(parpass.save_json(given))
    assert structural_equal(read, given, map_free_vars=True)
    found = substitute(given, {n: tir.const(5)})
    assert found.min is given.min
    assert int(found.extent.a) == 5


def test_it_is_under_tvms_name_too():
    assert parpass.ir.Range is tir.Range  # type: ignore[attr-defined]
    assert parpass.ir.PrimExpr is tir.PrimExpr  # type: ignore[attr-defined]
