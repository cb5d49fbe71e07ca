from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.relay.op.declaration.attributes import (
    NCHW,
    IntTuple,
    OneOf,
    Pair,
    attr_fields,
)


class OddAttrs(Attrs, frozen=True):
    pair: Pair = (1, 1)
    axes: IntTuple | None = None
    mode: Annotated[str, OneOf("a", "b")] = "a"
    layout: NCHW = "NCHW"
    flag: bool = False
    scale: float = 1.0
    count: int | None = None
    either: int | tuple[int, ...] = 1


FORMS: list[tuple[str, Any, Any]] = [
    ("pair", 2, (2, 2)),
    ("pair", [1, np.int8(2)], (1, 2)),
    ("axes", None, None),
    ("axes", 3, (3,)),
    ("mode", "b", "b"),
    ("flag", 1, True),
    ("flag", np.False_, False),
    ("scale", 2, 2.0),
    ("scale", np.float32(0.5), 0.5),
    ("either", (1, 2), (1, 2)),
]


@pytest.mark.parametrize(("name", "value", "wanted"), FORMS)
def test_a_field_says_which_form_a_value_has(
    name: str, value: Any, wanted: Any
) -> None:
    found = attr_fields(OddAttrs)[name].normal(value, "odd")
    assert found == wanted
    assert type(found) is type(wanted)


WRONG: list[tuple[str, Any, str]] = [
    ("pair", (1, 2, 3), "expected one or two ints of at least 1 for pair"),
    ("pair", None, "expected ints for pair, got None"),
    ("axes", "ab", "expected ints for axes, got 'ab'"),
    ("count", "x", r"'odd': expected int \| None for count, got 'x'"),
    ("layout", 3, "'odd': expected str for layout, got 3"),
    ("layout", ["N"], r"'odd': expected str for layout, got \['N'\]"),
    ("mode", "c", "expected 'a' or 'b' for mode, got 'c'"),
    ("flag", 2, "'odd': expected bool for flag, got 2"),
    ("scale", "1", "'odd': expected float for scale, got '1'"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_a_value_that_has_no_form_is_refused(name: str, value: Any, words: str) -> None:
    with pytest.raises(IRTypeError, match=words):
        attr_fields(OddAttrs)[name].normal(value, "odd")


def test_what_is_read_is_taken_as_it_is_where_only_its_kind_is_right() -> None:
    fields = attr_fields(OddAttrs)
    assert fields["mode"].stored("c", "odd") == "c"
    assert fields["pair"].stored((0, -1), "odd") == (0, -1)
    assert fields["pair"].stored(3, "odd") == (3, 3)
    with pytest.raises(IRTypeError, match="expected one or two ints"):
        fields["pair"].stored((1, 2, 3), "odd")
