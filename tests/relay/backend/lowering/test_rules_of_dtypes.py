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


def assert_computes_in_all_dtypes(name: str, examples: int) -> None:
    @settings(max_examples=examples, database=None, deadline=None)
    @given(calls(name))
    def holds(built: Built) -> None:
        for call in in_dtypes(built):
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
    assert_computes_in_all_dtypes(name, 1)


@pytest.mark.stress
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WITH_RULE)
def test_every_operator_computes_in_each_of_its_dtypes(name: str) -> None:
    assert_computes_in_all_dtypes(name, 2)
