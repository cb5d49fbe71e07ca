"""Attributes: of calls of operators, and of functions and modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec
import numpy as np

from parpass.errors import IRTypeError, SizeLimitError, UnknownAttrError
from parpass.ir.types.type_structure import MAX_NESTING, Type

INTS = range(-(2**63), 2**64)  # that attributes may have


class Attrs(msgspec.Struct, frozen=True, kw_only=True):
    """The base of operators' attributes: immutable, compared by value.

    A subclass lists the attributes of one kind of operator under TVM's names, with
    defaults; sequences are tuples. They are read as `attrs.strides`, and by name as
    those of a mapping: `attrs["strides"]`.
    """

    namespace: ClassVar[str] = "relay.attrs"

    def keys(self) -> tuple[str, ...]:
        """Return the names of the attributes."""
        return self.__struct_fields__

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute of that name, `default` if there is none."""
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
        """Reject values that do not go together; each alone is what its field says.

        Raises:
            IRTypeError: They do not.
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

    Values are what programs can be written down with: None, bools, ints of 64 bits,
    floats, strings, types, and tuples and mappings of such. Numbers of numpy, and of
    classes of their own, become Python's, lists become tuples. What has `as_attribute`,
    such as a target, says itself which of these stands for it.

    Raises:
        IRTypeError: A value is none of these, or a name is no string.
        SizeLimitError: Values would be nested too deep.
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


def _plain(value: Any, name: str, nesting: int = 0) -> Any:
    """Return a value in its one full form; `name` is the attribute's, for messages."""
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
    if isinstance(value, tuple | list):
        items = cast("Sequence[Any]", value)
        return tuple([_plain(item, name, nesting + 1) for item in items])
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {
            _plain(key, name, nesting + 1): _plain(one, name, nesting + 1)
            for key, one in entries
        }
    raise IRTypeError(
        "expected what a program can be written down with (numbers, strings, types, "
        f"tuples, mappings) for attribute '{name}', got {type(value).__name__}"
    )


def _number(value: Any) -> Any:
    """Return what a number of numpy's, or of an IR such as `tir.IntImm`, holds."""
    if isinstance(value, np.generic):
        return cast("np.generic[Any]", value).item()
    if hasattr(value, "value") and hasattr(value, "dtype"):
        return bool(value.value) if value.dtype == "bool" else value.value
    return value
