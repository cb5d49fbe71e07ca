"""VectorizeLoop: generated programs keep their meaning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from parpass import IRModule, tir
from parpass.tir.analysis import function_faults
from parpass.tir.transform import VectorizeLoop
from tests.support.profiles import examples
from tests.support.tir.programs import vectorized_funcs
from tests.support.tir.values import assert_same_values


def rewritten(func: tir.PrimFunc) -> Any:
    after = VectorizeLoop()(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    return after


@pytest.mark.slow
@given(func=vectorized_funcs())
@examples(1.5)
def test_vectorized_programs_do_what_they_did(func: tir.PrimFunc):
    assert_same_values(func, rewritten(func))
