"""Plain values of nodes, types and attributes, with holes for objects of a table.

Rows of a table keep the values of an object apart from the objects that these contain.
A *form* is a value that is to be made once these objects are there: a value of
`LEAVES`, `HOLE`, a list of forms for a tuple, or a `Made`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors import SizeLimitError
from parpass.ir.attrs import DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.ir.types.type_structure import MAX_NESTING
from parpass.runtime.ndarray import NDArray

ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
LEAVES = ATOMS | {Op, TensorType, UnknownDim}  # what a form may be as it stands
OBJECTS = msgspec.Struct, NDArray, IRModule  # what may have a row

# Whose values are equal only if they are written alike.
TOLD_BY_EQUALITY = frozenset({str, int, type(None), Op, TensorType, UnknownDim})

type_of: Callable[[Any], type[Any]] = type  # whose own type is partly unknown


class Hole:
    """Stands for an object of the table in a form."""


HOLE = Hole()


class Holes(int):
    """Stands for this many objects, in a tuple."""


class Made(NamedTuple):
    """A form of a value other than a tuple.

    Attributes:
        make: Returns it, given its items.
        items: The forms of these.
    """

    make: Callable[[list[Any]], Any]
    items: list[Any]


def objects_in(
    value: Any, leaves: frozenset[type[Any]], nesting: int = 0
) -> Sequence[Any]:
    """Return the objects in a plain value, in the order of its holes.

    Args:
        value: The value.
        leaves: The classes of values that are written where they stand.
        nesting: How deep it stands.

    Raises:
        SizeLimitError: Values are nested too deep.
    """
    kind = type_of(value)
    if kind in leaves or (kind is tuple and leaves.issuperset(map(type, value))):
        return ()
    if isinstance(value, OBJECTS):
        return (value,)
    if isinstance(value, tuple | list):
        items = cast("Sequence[Any]", value)
    elif isinstance(value, dict | DictAttrs):
        pairs = cast("Mapping[Any, Any]", value).items()
        items = [one for pair in pairs for one in pair]
    else:
        return ()
    if nesting > MAX_NESTING:
        raise SizeLimitError(f"attributes are nested more than {MAX_NESTING} deep")
    return [one for item in items for one in objects_in(item, leaves, nesting + 1)]


def key_of(value: Any) -> Any:
    """Return a value that equals only that of a plain value of the same form.

    It cannot be hashed if there is none.
    """
    kind = type_of(value)
    if kind in TOLD_BY_EQUALITY:
        return value
    if kind is float:
        return float, value.hex()
    if kind is bool or kind is bytes:
        return kind, value
    if kind is tuple:
        if TOLD_BY_EQUALITY.issuperset(map(type, value)):
            return value
        return (tuple, *map(key_of, value))
    return HOLE if isinstance(value, OBJECTS) else []


def value_of(form: Any, next_object: Callable[[], Any], nesting: int = 0) -> Any:
    """Return the plain value of a form.

    Args:
        form: The form.
        next_object: Returns the object for the next hole.
        nesting: How deep it stands.

    Raises:
        ValueError: It is no form.
    """
    if type(form) in LEAVES:
        return form
    if form is HOLE:
        return next_object()
    if nesting > MAX_NESTING:
        raise ValueError("nested too deep")
    if type(form) is Made:
        return form.make(_values_of(form.items, next_object, nesting))
    if type(form) is not list:
        raise ValueError("expected a value")
    return tuple(_values_of(cast("list[Any]", form), next_object, nesting))


def _values_of(
    forms: list[Any], next_object: Callable[[], Any], nesting: int
) -> list[Any]:
    return [value_of(one, next_object, nesting + 1) for one in forms]


def holes_in(form: Any) -> Iterator[Hole]:
    """Yield the holes of a form."""
    if form is HOLE:
        yield form
        return
    items: Any = form.items if type(form) is Made else form
    if type(items) is list:
        for one in cast("list[Any]", items):
            yield from holes_in(one)


def mapping_of(values: Sequence[Any]) -> dict[Any, Any]:
    """Return the mapping of keys and values that follow each other.

    Raises:
        ValueError: They make none.
    """
    if len(values) % 2:
        raise ValueError("expected pairs of keys and values")
    found: dict[Any, Any] = {}
    for at, key in enumerate(values[::2]):
        try:
            is_new = key not in found
        except TypeError:  # what cannot be a key, such as a list
            is_new = False
        if not is_new:
            raise RepeatedKeyError(at)
        found[key] = values[2 * at + 1]
    return found


class RepeatedKeyError(ValueError):
    """A key of a mapping is no new one.

    Attributes:
        at: The number of its pair.
    """

    def __init__(self, at: int) -> None:
        super().__init__("expected a new key and a value")
        self.at = at
