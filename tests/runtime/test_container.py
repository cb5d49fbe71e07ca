from __future__ import annotations

import numpy as np

from parpass import nd, relay
from parpass.runtime import NDArray, container


def test_a_tuple_of_values_is_taken_and_given_by_executors() -> None:
    x = relay.var("x", type_annotation=relay.TupleType([relay.TensorType((2,))] * 2))
    swap = relay.Function([x], relay.Tuple([relay.TupleGetItem(x, i) for i in (1, 0)]))
    value = container.tuple_object([nd.array(np.full(2, i, "float32")) for i in (1, 2)])
    swapped: tuple[NDArray, ...] = relay.create_executor().evaluate(swap)(value)
    assert isinstance(swapped, container.ADT)
    assert [array.numpy()[0] for array in swapped] == [2, 1]
    assert container.tuple_object() == ()
