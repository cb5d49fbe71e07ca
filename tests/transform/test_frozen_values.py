"""Whether a value can be changed is found out by a look at it."""

from __future__ import annotations

import array
import ast
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import random
import re
import threading
import types
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from parpass.transform.frozen_values import is_frozen


@dataclasses.dataclass(frozen=True)
class Frozen:
    one: Any
    two: Any = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    one: Any


@dataclasses.dataclass
class Open:
    one: Any


class Inherits(Frozen):
    """A plain subclass, whose instances take other attributes."""


class Pair(NamedTuple):
    one: Any
    two: int


class Attributed(Pair):
    """A subclass whose instances have attributes."""


class Colour(enum.Enum):
    RED = ("a list",)


class Struct(msgspec.Struct, frozen=True):
    one: Any


class Uncollected(msgspec.Struct, frozen=True, gc=False):
    one: Any


class OpenStruct(msgspec.Struct):
    one: Any


class Constant:
    __slots__ = ()


class Slots:
    __slots__ = ("one",)


@dataclasses.dataclass(frozen=True)
class FrozenList(list[int]):
    one: int = 0


_array: Any = array.array  # a class of an extension module, with state of its own


@dataclasses.dataclass(frozen=True)
class FrozenArray(_array):
    one: int = 0


def with_cache() -> Frozen:
    value = Frozen(1)
    object.__setattr__(value, "_cache", [1])
    return value


def locked(value: Any) -> Any:
    value.flags.writeable = False
    return value


def unset() -> Any:
    return object.__new__(Slotted)


_frozen_array: Any = FrozenArray

FROZEN: list[Any] = [
    *(None, True, 1, 1.5, 1j, "text", b"bytes", range(3), ..., NotImplemented),
    *(decimal.Decimal(1), datetime.date(2020, 1, 1), int, Frozen, Colour.RED),
    *((), (1, ("a", (2,))), frozenset([1, ("a",)]), Pair(1, 2), Constant()),
    *(Frozen(1), Frozen(Frozen((1,))), Frozen(Colour.RED, int), Slotted(1), unset()),
    *(Struct(Struct(1)), Uncollected((1,)), np.int32(1), np.dtype("float32")),
    *(locked(np.zeros(2)), np.frombuffer(b"12345678", "int32")),
]
OPEN: list[Any] = [
    *([], {}, set[int](), bytearray(), types.SimpleNamespace(), collections.deque()),
    *(lambda: 0, types.MappingProxyType({}), random.Random(), memoryview(b"")),
    *(iter([1]), (one for one in ()), ast.parse("x"), fractions.Fraction(1, 2)),
    *(re.compile("x"), array.array("i"), threading.Lock(), np.zeros(2)),
    *(locked(np.zeros(2)[:1]), locked(np.array([[]], object)), np.zeros(1, "i,i")[0]),
    *(([],), frozenset([Open.__init__]), Pair([], 2), Attributed(1, 2)),
    *(Frozen([]), Frozen({}), Frozen(1, (2, [])), with_cache(), Inherits(1)),
    *(Slotted([]), Open(1), Slots(), FrozenList(), _frozen_array("i")),
    *(Struct([]), Struct(Struct({})), Uncollected([]), OpenStruct(1)),
]


@pytest.mark.parametrize("value", FROZEN, ids=lambda one: type(one).__name__)
def test_what_cannot_be_changed_is_frozen(value: Any):
    assert is_frozen(value)
    assert is_frozen((value, Frozen(value)))


@pytest.mark.parametrize("value", OPEN, ids=lambda one: type(one).__name__)
def test_whatever_can_be_changed_somewhere_is_not(value: Any):
    assert not is_frozen(value)
    assert not is_frozen((1, Frozen(Slotted(value))))


def test_annotations_are_not_believed():
    @dataclasses.dataclass(frozen=True)
    class Lies:
        one: tuple[int, ...]

    lie: Any = [1]
    assert not is_frozen(Lies(lie))
    assert is_frozen(Lies((1,)))


def test_an_attribute_that_was_looked_up_by_its_dict_is_seen():
    value = Frozen((1,))
    assert vars(value)["one"] == (1,)
    assert is_frozen(value)
    other = Frozen([1])
    assert vars(other)["one"] == [1]
    assert not is_frozen(other)


def test_a_deep_value_is_looked_at_without_recursion_and_a_shared_one_once():
    deep = shared = Frozen(0)
    for _ in range(5_000):
        deep = Frozen(deep)
    for _ in range(100):  # 2 ** 100 ways to the same
        shared = Frozen(shared, (shared,))
    assert is_frozen(deep)
    assert is_frozen(shared)
