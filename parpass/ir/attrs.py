"""Attributes of operator calls, functions and modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec
import numpy as np

from parpass.errors import IRTypeError, SizeLimitError, UnknownAttrError
from parpass.ir.types import Type
from parpass.ir.types.type_structure import MAX_NESTING

_MAX_COPIES = 2**15  # of values that are shared, which they are no more
INTS = range(-(2**63), 2**64)  # that attributes may have


class Attrs(msgspec.Struct, frozen=True, kw_only=True):
    """The base of operators' attributes: immutable, compared by value.

    A subclass declares the attributes of one kind of operator, with defaults, under
    TVM's names; sequences are tuples. Read them as fields, `attrs.strides`, or as
    items, `attrs["strides"]`.
    """

    namespace: ClassVar[str] = "relay.attrs"

    def keys(self) -> tuple[str, ...]:
        """Return the names of the attributes."""
        return self.__struct_fields__

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute of that name, or `default` if it is missing."""
        return getattr(self, name) if name in self else default

    def get_int(self, name: str) -> int:
        """Return an attribute as an int."""
        return int(self[name])

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        """Return an attribute as a tuple of ints."""
        return tuple(int(item) for item in self[name])

    def get_str(self, name: str) -> str:
        """Return an attribute as a string."""
        return str(self[name])

    def check(self) -> None:
        """Check the attributes against each other; each field is valid on its own.

        Raises:
            IRTypeError: They are inconsistent.
        """

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise UnknownAttrError(name, self.keys())
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.__struct_fields__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__struct_fields__)


class DictAttrs(Mapping[str, Any]):
    """An immutable mapping of attributes by name, compared by content.

    Values are those that a program's text can contain: None, bools, 64-bit ints,
    floats, strings, types, and tuples and mappings of these. Numbers of numpy and of
    other classes become Python numbers, and lists become tuples. An object with a
    method `as_attribute`, such as a target, is replaced by that method's result.

    Raises:
        IRTypeError: A value is none of these, or a name is not a string.
        SizeLimitError: Values would be nested too deep, or shared too often.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items: dict[str, Any] = {}
        for name, value in items.items():
            if not isinstance(cast("object", name), str):
                raise IRTypeError(
                    f"expected names for keys in attributes, got {name!r:.40}"
                )
            self._items[str(name)] = _plain(value, name)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __reduce__(self) -> tuple[Any, ...]:
        return DictAttrs, (self._items,)

    def __repr__(self) -> str:
        return f"DictAttrs({self._items})"


class _Met:
    """Counts copies of the tuples and mappings in one value, one for each use."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}  # by id, which is theirs as they are kept
        self._copies = 0

    def take(self, value: Any, name: str) -> None:
        """Count one more copy of a value.

        Raises:
            SizeLimitError: Values that several others share are copied too often.
        """
        if not value:
            return
        self._values[id(value)] = value
        self._copies += 1
        if self._copies - len(self._values) > _MAX_COPIES:
            raise SizeLimitError(
                f"expected at most {_MAX_COPIES} tuples and mappings in attribute "
                f"'{name}' beyond the first use of each, because each use is copied; "
                "one that contains another twice doubles it"
            )


def _plain(value: Any, name: str, nesting: int = 0, met: _Met | None = None) -> Any:
    """Return a value in canonical form; `name` is the attribute's, for messages."""
    if value is None or isinstance(value, bool | Type):
        return value
    value = _number(value.as_attribute() if hasattr(value, "as_attribute") else value)
    for kind in (str, bool, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, int):
        if int(value) in INTS:
            return int(value)
        raise IRTypeError(f"expected an int of 64 bits for attribute '{name}'")
    if nesting == MAX_NESTING:
        raise SizeLimitError(
            f"attribute '{name}' is nested more than {MAX_NESTING} deep"
        )
    met = met or _Met()
    if isinstance(value, tuple | list):
        met.take(value, name)
        items = cast("Sequence[Any]", value)
        return tuple([_plain(item, name, nesting + 1, met) for item in items])
    if isinstance(value, Mapping):
        met.take(value, name)
        entries = cast("Mapping[Any, Any]", value).items()
        return {
            _plain(key, name, nesting + 1, met): _plain(one, name, nesting + 1, met)
            for key, one in entries
        }
    raise IRTypeError(
        "expected a value that program text can express (numbers, strings, types, "
        f"tuples, mappings) for attribute '{name}', got {type(value).__name__}"
    )


def _number(value: Any) -> Any:
    """Convert a number of numpy, or of an IR such as `tir.IntImm`, to Python."""
    if isinstance(value, np.generic):
        return cast("np.generic[Any]", value).item()
    if hasattr(value, "value") and hasattr(value, "dtype"):
        return bool(value.value) if value.dtype == "bool" else value.value
    return value
