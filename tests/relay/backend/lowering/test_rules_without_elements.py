"""Kernels of tensors without elements compute what numpy does, or are left to it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given

from parpass.errors import EvaluationError
from parpass.relay import op
from parpass.relay.backend.lowering import NoRuleError
from parpass.relay.expr import Call, const
from parpass.relay.op import Op, nn
from tests.relay.backend.lowering.op_variants import without_elements
from tests.support.profiles import examples
from tests.support.relay.lowered import as_function, interpreted
from tests.support.relay.op.calls import floats, ints, type_of, value
from tests.support.relay.op.rules_of_lowering import (
    WITH_RULE,
    assert_means_the_same,
    calls,
)
from tests.support.relay.op.shapes import Built

pytestmark = pytest.mark.hunt  # properties are inside of tests

EMPTY = [
    op.add(floats(0, 3), floats(1)),
    op.concatenate([floats(0, 2), floats(3, 2), floats(0, 2)], 0),
    op.concatenate([floats(0, 2), floats(0, 2)], 0),
    op.reshape(floats(0, 4), (2, 0), allowzero=True),
    op.sum(floats(3, 0), 1),
    op.max(floats(3, 0), 1),
    op.max(ints(0)),
    op.all(const(np.zeros((2, 0), bool)), 1),
    op.transpose(floats(2, 0, 3)),
    op.take(floats(3, 2), const(np.zeros(0, "int32")), 0),
    op.tile(floats(0, 2), (2, 2)),
    nn.dense(floats(2, 0), floats(3, 0)),
    nn.softmax(floats(0, 3)),
    nn.conv2d(floats(0, 2, 4, 4), floats(3, 2, 1, 1)),
    nn.pad(floats(0, 2), ((1, 1), (0, 0))),
    nn.batch_flatten(floats(0, 2, 2)),
    nn.conv2d_transpose(floats(1, 2, 0, 4), floats(2, 3, 3, 3)),
    op.mean(floats(3, 0), 1),
    op.variance(floats(3, 0), 1, with_mean=floats(3, 1)),
    nn.cross_entropy(floats(0, 3), floats(0, 3)),
    nn.layer_norm(floats(3, 0), floats(0), floats(0)),
    nn.instance_norm(floats(3, 2, 0), floats(2), floats(2)),
    nn.group_norm(floats(2, 4, 0), floats(4), floats(4), 2),
    # Of these a shape is no operand's.
    op.arange(const(3), const(3), dtype="int32"),
    op.broadcast_to(floats(1, 3), (0, 3)),
    op.full(const(1.5), (2, 0)),
    op.ones((0,), "int8"),
    op.zeros((0, 2), "float32"),
]


@pytest.mark.parametrize("built", EMPTY, ids=str)
def test_tensors_without_elements_are_computed(built: Built) -> None:
    assert_means_the_same(built)


# Their shapes are attributes; that of `greater_equal` and its like may be a scalar's.
OF_NO_OPERAND = {"arange", "broadcast_to", "full", "ones", "zeros"}


def assert_agrees_without_elements(name: str, share: float) -> int:
    """Compare calls of an operator; return how many there were."""
    count = 0

    @examples(share)
    @given(calls(name))
    def holds(built: Built) -> None:
        nonlocal count
        for call in without_elements(built):
            count += 1
            assert_agrees(call)

    holds()
    return count


def assert_agrees(call: Call) -> None:
    try:
        wanted = value(call)
    except EvaluationError:
        # What is an error for numpy has no kernel: it is numpy's when the program runs.
        # Where numbers in a tensor make it one, a kernel stays within its buffers.
        numbers_tell = call.op == Op.get("strided_set")
        with (
            contextlib.suppress(NoRuleError)
            if numbers_tell
            else pytest.raises(NoRuleError)
        ):
            interpreted(call)
        return
    function, _ = as_function(call)
    assert type_of(wanted) == function.body.checked_type
    with contextlib.suppress(NoRuleError):
        assert_means_the_same(call)


@pytest.mark.parametrize("name", ["concatenate", "nn.conv2d", "nn.dense", "nn.softmax"])
def test_what_an_operator_makes_of_nothing_is_what_numpy_does(name: str) -> None:
    assert assert_agrees_without_elements(name, 0.05)


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted({*WITH_RULE} - OF_NO_OPERAND))
def test_what_each_operator_makes_of_nothing_is_what_numpy_does(name: str) -> None:
    assert assert_agrees_without_elements(name, 0.6)
