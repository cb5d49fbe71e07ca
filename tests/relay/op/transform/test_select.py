from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, const
from tests.support.relay.op.calls import array, floats, related, type_of, value

DATA = floats(4, 5)
VALUES = array(DATA)
INDICES = const(np.array([[1, 0], [2, 3]], "int32"))

MEANINGS: list[tuple[Call, Any]] = [
    (op.take(DATA, INDICES), VALUES.ravel()[array(INDICES)]),
    (op.take(DATA, INDICES, 0), VALUES[array(INDICES)]),
    (op.take(DATA, INDICES, -1), VALUES[:, array(INDICES)]),
    (op.take(DATA, 2, 0), VALUES[2]),
    (op.take(DATA, const(np.array([-7, 99])), 0), VALUES[[0, 3]]),
    (op.take(DATA, const(np.array([-1, 5])), 0, mode="wrap"), VALUES[[3, 1]]),
    (op.take(DATA, INDICES, 0, 0, "fast"), VALUES[array(INDICES)]),
    (op.strided_slice(DATA, (1, 0), (3, -1)), VALUES[1:3, 0:-1]),
    (op.strided_slice(DATA, 1, 4, 2), VALUES[1:4:2]),
    (op.strided_slice(DATA, (3, -1), (-9, -9), (-1, -2)), VALUES[::-1, ::-2]),
    (op.strided_slice(DATA, 1, 3, axes=1), VALUES[:, 1:3]),
    (op.strided_slice(DATA, (1, -3), (2, -1), slice_mode="size"), VALUES[1:3, 2:]),
    (op.strided_slice(DATA, -3, 2, axes=1, slice_mode="size"), VALUES[:, 2:4]),
    (op.reverse(DATA, 1), VALUES[:, ::-1]),
    (op.repeat(DATA, 3, 1), VALUES[:, np.arange(15) // 3]),
    (op.repeat(DATA, 2), VALUES.ravel()[np.arange(40) // 2]),
    (op.tile(DATA, (2, 1)), np.concatenate([VALUES, VALUES])),
    (op.tile(DATA, (2, 1, 1)), np.stack([VALUES, VALUES])),
]


@pytest.mark.parametrize(("call", "wanted"), MEANINGS)
def test_the_meaning_is_numpys(call: Call, wanted: Any) -> None:
    np.testing.assert_array_equal(value(call), wanted, strict=True)


@given(
    *[st.tuples(st.integers(-9, 9), st.integers(-9, 9))] * 2,
    st.tuples(*[st.sampled_from([-3, -1, 1, 2])] * 2),
)
def test_a_sliced_type_is_that_of_the_sliced_array(
    begin: tuple[int, int], end: tuple[int, int], strides: tuple[int, int]
) -> None:
    call = op.strided_slice(DATA, begin, end, strides)
    assert related(call) == type_of(value(call))


UNKNOWN = UnknownDim()

PARTLY_KNOWN: list[tuple[Call, tuple[Any, ...]]] = [
    (op.strided_slice(DATA, 1, 3), (UNKNOWN, 5)),
    (op.strided_slice(DATA, 1, 3, axes=1), (UNKNOWN, 2)),
    (op.reverse(DATA, 0), (UNKNOWN, 5)),
    (op.repeat(DATA, 2, 0), (UNKNOWN, 5)),
    (op.repeat(DATA, 2), (UNKNOWN,)),
    (op.tile(DATA, 2), (UNKNOWN, 10)),
]


@pytest.mark.parametrize(("call", "wanted"), PARTLY_KNOWN)
def test_unknown_dimensions_pass_through(call: Call, wanted: tuple[Any, ...]) -> None:
    assert isinstance(call.op, op.Op)
    found = call.op.relation([TensorType((UNKNOWN, 5))], call.attrs)
    assert found == TensorType(wanted)


def test_indices_are_integers() -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(op.take(DATA, floats(2), 0))
    assert str(caught.value) == (
        "expected a tensor of integers for the indices, got Tensor[(2,), float32]"
    )


def test_there_is_no_axis_beyond_the_last() -> None:
    for call in (
        op.take(DATA, INDICES, 2),
        op.strided_slice(DATA, (0, 0, 0), (1, 1, 1)),
        op.reverse(DATA, -3),
        op.repeat(DATA, 2, 2),
    ):
        with pytest.raises(op.TypeRelationError, match="an axis of 2 dimensions, got"):
            related(call)


WRONG: list[tuple[Callable[[], Call], str]] = [
    (
        lambda: op.take(DATA, INDICES, None, 1),
        "expected an axis with batch_dims 1, got none",
    ),
    (
        lambda: op.take(DATA, INDICES, mode="raise"),
        "expected 'clip' or 'wrap' or 'fast' for mode, got 'raise'",
    ),
    (
        lambda: op.strided_slice(DATA, (0, 0), 1, axes=(0, 1)),
        (
            "expected as many ends and axes as begins, got begin (0, 0), end (1,) and "
            "axes (0, 1)"
        ),
    ),
    (
        lambda: op.strided_slice(DATA, 0, 1, 0),
        "expected strides other than 0, got (0,)",
    ),
    (lambda: op.repeat(DATA, 0), "expected one repeat or more, got 0"),
    (lambda: op.tile(DATA, (1, 0)), "expected repetitions of 1 or more, got (1, 0)"),
]


@pytest.mark.parametrize(("build", "words"), WRONG)
def test_builders_reject_what_is_wrong_for_every_type(
    build: Callable[[], Call], words: str
) -> None:
    with pytest.raises(IRTypeError) as caught:
        build()
    assert str(caught.value) == words
