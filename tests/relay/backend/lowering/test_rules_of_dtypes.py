"""Kernels of every dtype that an operator takes compute what numpy does."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings

from parpass.errors import EvaluationError
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Call
from parpass.relay.op import Op
from tests.support.op_calls import value
from tests.support.op_shapes import Built
from tests.support.op_variants import in_dtypes
from tests.support.rules_of_lowering import (
    WITH_RULE,
    assert_means_the_same,
    by_machine,
    calls,
)

_PARTS = 3  # a test is of every third call: of some operators there are hundreds


def assert_computes_in_all_dtypes(name: str, examples: int, part: slice) -> None:
    @settings(max_examples=examples, database=None, deadline=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        for call in list(in_dtypes(built))[part]:
            if not numbers_are_refused(call):
                with contextlib.suppress(NoRuleError):
                    assert_means_the_same(call, by_machine)

    holds()


def numbers_are_refused(call: Call) -> bool:
    """Return whether bounds in another dtype are no longer those of the type."""
    try:
        value(call)
    except EvaluationError:
        assert call.op in {Op.get("arange"), Op.get("strided_set")}
        return True
    return False


@pytest.mark.parametrize("name", ["abs", "nn.relu", "left_shift"])
def test_an_operator_computes_in_each_of_its_dtypes(name: str) -> None:
    assert_computes_in_all_dtypes(name, 1, slice(None))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("name", WITH_RULE)
def test_every_operator_computes_in_each_of_its_dtypes(name: str, part: int) -> None:
    assert_computes_in_all_dtypes(name, 2, slice(part, None, _PARTS))
