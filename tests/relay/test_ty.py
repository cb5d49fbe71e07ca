from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import IRTypeError
from parpass.relay.ty import tensor_type

TENSOR = relay.TensorType((2, 3), "float32")


def test_types_are_compared_by_structure():
    assert relay.TensorType([2, 3], "float32") == TENSOR  # pyright: ignore[reportArgumentType]
    assert relay.TensorType((2, 3), "int32") != TENSOR
    assert hash(relay.TupleType((TENSOR,))) == hash(relay.TupleType((TENSOR,)))
    assert relay.TensorType((relay.Any(),)) == relay.TensorType((relay.Any(),))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TENSOR, "Tensor[(2, 3), float32]"),
        (relay.TensorType((1,)), "Tensor[(1,), float32]"),
        (relay.scalar_type("bool"), "bool"),
        (relay.TensorType((relay.Any(), 2)), "Tensor[(?, 2), float32]"),
        (relay.TupleType((TENSOR, relay.scalar_type())), f"({TENSOR}, float32)"),
        (relay.TupleType((relay.scalar_type(),)), "(float32,)"),
        (relay.FuncType((TENSOR,), TENSOR), f"fn ({TENSOR}) -> {TENSOR}"),
        (
            relay.FuncType((relay.TypeVar("a"),), TENSOR, (relay.TypeVar("a"),)),
            f"fn <a>(a) -> {TENSOR}",
        ),
    ],
)
def test_types_print_as_relay_prints_them(type_: relay.Type, text: str):
    assert str(type_) == text


def test_a_concrete_shape_has_no_unknown_dimension():
    assert TENSOR.concrete_shape == (2, 3)
    with pytest.raises(IRTypeError, match="static shape"):
        _ = relay.TensorType((relay.Any(), 2)).concrete_shape


def test_tensor_type_takes_any_sequence():
    assert tensor_type([2, 3]) == TENSOR
