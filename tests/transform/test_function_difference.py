"""Functions without an `__eq__` are compared by all that is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from parpass.transform import BlobSink, Source, adapter_of
from tests.support.toy.parented_ir import Adapter, Fn, Mod, module

CHANGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda one: one.ops.pop(), "something and nothing at Fn.ops[2]"),
    (lambda one: setattr(one, "new", 1), "nothing and something at Fn.new"),
    (lambda one: setattr(one, "note", 1), "'noted' and 1 at Fn.note"),
    (lambda one: setattr(one.ops[1], "name", "x"), "'nop' and 'x' at Fn.ops[1]"),
    (lambda one: setattr(one, "ops", tuple(one.ops)), "at Fn.ops"),
    (
        lambda one: setattr(one.ops[1], "parent", Fn("a", "add", "nop", "mul")),
        "one Fn in two places, or two at Fn.ops[1].parent",
    ),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_states_are_compared_by_all_that_is_in_them(change: Any, told: str):
    adapter = adapter_of(module(), "test")
    one, other = Fn("a", "add", "nop", "mul"), Fn("a", "add", "nop", "mul")
    assert adapter.difference(one, other) is None
    change(other)
    assert told in str(adapter.difference(one, other))


class Boxes(Adapter):
    """Functions are boxes of their names."""

    consumes_functions = True

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        return function.name.encode()

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Mod
    ) -> Fn:
        return Fn(bytes(encoded).decode())


def test_boxes_are_compared_by_their_bytes():
    assert Boxes().difference(Fn("abc", "add"), Fn("abc")) is None
    told = "b'c' and b'', from byte 2 of their encodings on"
    assert Boxes().difference(Fn("abc"), Fn("ab")) == told


class Equal(Fn):
    """Is equal to a function of the same name, and its text is that of any object."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fn) and self.name == other.name

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as of a list


def test_an_eq_decides_and_the_place_is_shown_where_texts_do_not_tell():
    adapter = Adapter()
    assert adapter.difference(Equal("a", "add"), Equal("a")) is None
    told = "'a' and 'b' at Equal.name"
    assert adapter.difference(Equal("a"), Equal("b")) == told
