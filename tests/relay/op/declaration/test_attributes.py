from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay.op.declaration.attributes import (
    dtype_name,
    int_tuple,
    ints_of_rank,
    one_int,
    padding_of_rank,
    require_choice,
)

STORED: list[tuple[Any, Any]] = [
    (int_tuple(3, "x"), (3,)),
    (int_tuple([1, 2], "x"), (1, 2)),
    (int_tuple(np.array([1, 2]), "x"), (1, 2)),
    (int_tuple((), "x"), ()),
    (ints_of_rank(3, 2, "x"), (3, 3)),
    (ints_of_rank([1, 2], 2, "x"), (1, 2)),
    (ints_of_rank(3, 1, "x"), (3,)),
    (one_int(np.int8(3), "x"), 3),
    (padding_of_rank(1, 2), (1, 1, 1, 1)),
    (padding_of_rank((1, 2), 2), (1, 2, 1, 2)),
    (padding_of_rank((1, 2, 3, 4), 2), (1, 2, 3, 4)),
    (padding_of_rank(1, 1), (1, 1)),
    (padding_of_rank((1, 2), 1), (1, 2)),
    (padding_of_rank((1, 2, 3), 3), (1, 2, 3, 1, 2, 3)),
    (dtype_name("float"), "float32"),
    (require_choice("a", ("a", "b"), "x"), "a"),
]


@pytest.mark.parametrize(("stored", "wanted"), STORED)
def test_each_attribute_has_one_full_form(stored: Any, wanted: Any) -> None:
    assert stored == wanted
    assert type(stored) is type(wanted)


def test_numpys_integers_become_pythons() -> None:
    assert type(int_tuple(np.int64(3), "x")[0]) is int


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: int_tuple("ab", "axis"), "expected ints for axis, got 'ab'"),  # pyright: ignore[reportArgumentType]
    (lambda: int_tuple(1.5, "axis"), "expected ints for axis, got 1.5"),  # pyright: ignore[reportArgumentType]
    (
        lambda: ints_of_rank((1, 2, 3), 2, "strides"),
        "expected one or two ints of at least 1 for strides, got (1, 2, 3)",
    ),
    (
        lambda: padding_of_rank((0, -1), 2),
        "expected one, two or four ints from 0 on for padding, got (0, -1)",
    ),
    (
        lambda: one_int(0, "groups"),
        "expected one int of at least 1 for groups, got 0",
    ),
    (
        lambda: padding_of_rank((1, 2, 3), 1),
        "expected one or two ints from 0 on for padding, got (1, 2, 3)",
    ),
    (lambda: dtype_name("int7"), "expected the name of a dtype, got 'int7'"),
    (
        lambda: require_choice("c", ("a", "b"), "mode"),
        "expected 'a' or 'b' for mode, got 'c'",
    ),
]


@pytest.mark.parametrize(("make", "words"), WRONG)
def test_a_wrong_value_is_named_with_its_attribute(
    make: Callable[[], Any], words: str
) -> None:
    with pytest.raises(IRTypeError) as caught:
        make()
    assert str(caught.value) == words
