"""Types of what is picked by indices."""

from __future__ import annotations

import pytest

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.op import Op, TypeRelationError
from parpass.relay.op.transform.indexing import GatherNDAttrs

DATA = TensorType((3, 4, 5), "float32")
INDICES = TensorType((UnknownDim(), 7), "int32")


def test_gather_nd_goes_by_index_rank_where_the_coordinates_are_unknown() -> None:
    relation = Op.get("gather_nd").relation
    found = relation([DATA, INDICES], GatherNDAttrs(index_rank=2))
    assert found == TensorType((7, 5), "float32")


@pytest.mark.parametrize("index_rank", [-1, 0, 4])
def test_gather_nd_has_at_least_one_coordinate_and_no_more_than_dimensions(
    index_rank: int,
) -> None:
    relation = Op.get("gather_nd").relation
    with pytest.raises(TypeRelationError, match="expected indices of up to 3 dim"):
        relation([DATA, INDICES], GatherNDAttrs(index_rank=index_rank))
