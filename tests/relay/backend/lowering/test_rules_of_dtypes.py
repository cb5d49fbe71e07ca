"""Kernels of every dtype that an operator takes compute what numpy does."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given

from parpass.errors import EvaluationError
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Call
from parpass.relay.op import Op
from tests.relay.backend.lowering.op_variants import in_dtypes
from tests.support.profiles import examples
from tests.support.relay.op.calls import array, value
from tests.support.relay.op.rules_of_lowering import (
    WITH_RULE,
    assert_means_the_same,
    by_machine,
    calls,
)
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests

_PARTS = 3  # a test is of every third call: of some operators there are hundreds


def assert_computes_in_all_dtypes(name: str, share: float, part: slice) -> None:
    @examples(share)
    @given(calls(name))
    def holds(built: Built) -> None:
        for call in list(in_dtypes(built))[part]:
            if not is_refused(call):
                with contextlib.suppress(NoRuleError):
                    assert_means_the_same(call, by_machine)

    holds()


def is_refused(call: Call) -> bool:
    """Return whether a call has no value, for which it has to have a reason.

    Bounds in another dtype are no longer those of the type, or the ints that floats
    became have negative powers, which numpy refuses.
    """
    try:
        value(call)
    except EvaluationError:
        of_bounds = call.op in {Op.get("arange"), Op.get("strided_set")}
        assert of_bounds or has_negative_powers_of_ints(call)
        return True
    return False


def has_negative_powers_of_ints(call: Call) -> bool:
    if call.op != Op.get("power"):
        return False
    base, exponent = map(array, call.args)
    return {base.dtype.kind, exponent.dtype.kind} <= {*"iu"} and exponent.min() < 0


@pytest.mark.parametrize("name", ["abs", "nn.relu", "left_shift", "power"])
def test_an_operator_computes_in_each_of_its_dtypes(name: str) -> None:
    assert_computes_in_all_dtypes(name, 0.05, slice(None))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("name", WITH_RULE)
def test_every_operator_computes_in_each_of_its_dtypes(name: str, part: int) -> None:
    assert_computes_in_all_dtypes(name, 0.1, slice(part, None, _PARTS))
