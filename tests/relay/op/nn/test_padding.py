from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.expr import const
from parpass.relay.op import Op, TypeRelationError, nn
from tests.support.relay.op.calls import array, floats, ints, related, value

WIDTH = ((1, 2), (0, 1))


def test_constant_padding_adds_the_pad_value() -> None:
    data = floats(2, 3)
    found = value(nn.pad(data, WIDTH, 7.0))
    assert found.shape == (5, 4)
    np.testing.assert_array_equal(found[1:3, :3], array(data))
    assert found.sum() - array(data).sum() == pytest.approx(7 * 14)


def test_the_pad_value_may_be_an_expression_and_takes_the_datas_dtype() -> None:
    found = value(nn.pad(ints(2, 3), WIDTH, const(7.0)))
    assert found.dtype == "int32"
    assert found[0].tolist() == [7] * 4


def test_elements_are_left_out_by_widths_below_0() -> None:
    data = floats(4, 3)
    found = value(nn.pad(data, ((-1, 1), (1, -2)), 7.0))
    wanted = np.full((4, 2), 7, "float32")
    wanted[:3, 1:] = array(data)[1:, :1]
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(TypeRelationError, match="as many elements as are left out"):
        related(nn.pad(data, ((0, 0), (-2, -2))))
    with pytest.raises(IRTypeError, match="from 0 on, got"):
        nn.pad(data, ((0, 0), (-1, 0)), pad_mode="edge")


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_the_other_modes_are_numpys(mode: Literal["edge", "reflect"]) -> None:
    data = floats(3, 3)
    found = value(nn.pad(data, WIDTH, pad_mode=mode))
    wanted = np.pad(array(data), WIDTH, mode)
    np.testing.assert_array_equal(found, wanted)


def test_unknown_dimensions_stay_unknown() -> None:
    unknown = UnknownDim()
    call = nn.pad(floats(2, 3), WIDTH)
    types = [TensorType((unknown, 3)), TensorType(())]
    assert Op.get("nn.pad").relation(types, call.attrs) == TensorType((unknown, 4))


def test_what_does_not_fit_is_rejected() -> None:
    with pytest.raises(TypeRelationError) as caught:
        related(nn.pad(floats(2, 3, 4), WIDTH))
    assert str(caught.value) == (
        "expected a pad_width for 2 dimensions, got Tensor[(2, 3, 4), float32]"
    )
    with pytest.raises(TypeRelationError, match="0 dimensions for the pad value, got"):
        related(nn.pad(floats(2, 3), WIDTH, floats(2)))


def test_widths_are_pairs() -> None:
    for width in ([(1, 2, 3)], [(1,)]):
        with pytest.raises(IRTypeError, match="expected pairs of ints, got"):
            nn.pad(floats(2), width)
    with pytest.raises(IRTypeError, match="for pad_mode, got 'wrap'"):
        nn.pad(floats(2), [(0, 0)], pad_mode="wrap")
