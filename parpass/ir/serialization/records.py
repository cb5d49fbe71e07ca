"""The records of a table, and the functions that take objects apart and make them.

A record is the kind and all of an object but the objects that it refers to: their
numbers follow it in the stream. So the calls of one type in a program have one record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from operator import attrgetter
from types import CodeType
from typing import Any, NamedTuple

from parpass.errors import ParpassError
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.schema import Field, Form, Kind, kind_of
from parpass.ir.serialization.value_forms import (
    ATOMS,
    HOLE,
    LEAVES,
    TOLD_BY_EQUALITY,
    Holes,
    RepeatedKeyError,
    holes_in,
    key_of,
    mapping_of,
    objects_in,
    type_of,
    value_of,
)
from parpass.ir.types import IncompleteType
from parpass.runtime.ndarray import NDArray

_MAX_KNOWN = 1_000  # lists of classes that are known to fit a record
_LIMIT = 1 << 63  # of the numbers in rows

Opened = tuple[tuple[Any, ...], Any]  # the objects in an object, and its key
Make = Callable[[Any], Any]  # an object of a tuple of those that it refers to


class Fault(ValueError):  # noqa: N818 -- what reads a table tells it in its own words
    """A mistake in a row.

    Attributes:
        where: Its place in the row.
        row: The number of the row, once it is known.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where
        self.row: int | None = None


def is_shared(make: type[Any]) -> bool:
    """Return whether equal objects of a class are one object in the table."""
    unshared = Node | IncompleteType | IRModule
    return issubclass(make, Op) or not issubclass(make, unshared)


# The generated functions run for every object that is written or read, as those of
# `ir/node/node.py` do, and are generated for the same reason.


@cache
def opener(kind: Kind, leaves: frozenset[type[Any]]) -> Callable[[Any], Opened]:
    """Return a function from an object to the objects in it, and a key of its record.

    Objects of equal keys have equal records. One that cannot be hashed has none.

    Args:
        kind: The kind of the objects.
        leaves: The classes of values that stand in records themselves.
    """
    inside: list[str] = []
    key = ["kind"]
    numbers: list[str] = []
    for at, field in enumerate(kind.fields.values()):
        value, given, is_told = f"n.{field.name}", f"v{at}", f"t{at}"
        match field.form:
            case Form.REFERENCE | Form.OPTIONAL:
                told = f"{is_told} := type({given} := {value}) in LEAVES"
                inside.append(f"*(() if ({told}) else ({given},))")
                key.append(f"({given} if {is_told} else HOLE)")
            case Form.REFERENCES:
                inside.append(f"*({given} := {value})")
                key.append(f"len({given})")
            case Form.PAIRS:
                inside.append(f"*[one for pair in {value}.items() for one in pair]")
                key.append(f"len({value})")
            case Form.NUMBER:
                numbers.append(value)
            case Form.PLAIN | Form.TYPES:  # of tensors, nearly always
                told = (
                    f"{is_told} := type({given} := {value}) in TOLD or "
                    f"type({given}) is tuple and ALL_TOLD(map(type, {given}))"
                )
                inside.append(f"*(() if ({told}) else objects_in({given}, LEAVES))")
                key.append(f"({given} if {is_told} else key_of({given}))")
    if numbers:
        others = ", ".join(f"key_of({one})" for one in numbers)
        key.append(f"(HOLE if {_are_own(numbers)} else ({others}))")
    names = {
        "kind": kind.make,
        "HOLE": HOLE,
        "LEAVES": leaves,
        "TOLD": TOLD_BY_EQUALITY & leaves,
        "ALL_TOLD": (TOLD_BY_EQUALITY & leaves).issuperset,
        "objects_in": objects_in,
        "key_of": key_of,
    }
    objects = "".join(f"{one}," for one in inside)
    return eval(_compiled(f"lambda n: (({objects}), ({', '.join(key)},))"), names)


def _are_own(numbers: Sequence[str]) -> str:
    """Return the expression for whether all numbers are natural, of 63 bits."""
    types = " is ".join(f"type({one})" for one in numbers)
    return f"{types} is int and 0 <= {' | '.join(numbers)} < {_LIMIT}"


def own_numbers(kind: Kind) -> Callable[[Any], tuple[int, ...]] | None:
    """Return a function from an object to the values of its fields of numbers.

    They stand in the row, not in the record, if the key of the object ends in a hole.
    None if the kind has no such fields.
    """
    names = [one.name for one in kind.fields.values() if one.form is Form.NUMBER]
    return attrgetter(*names) if names else None


def has_own_numbers(kind: Kind, item: Any) -> bool:
    """Return whether numbers of an object stand in its row."""
    return opener(kind, ATOMS)(item)[1][-1] is HOLE


def is_own_number(value: Any) -> bool:
    """Return whether a value can stand in a row as a number."""
    return type(value) is int and 0 <= value < _LIMIT


def parts_of(item: Any) -> Sequence[Any]:
    """Return the objects in an object, values that stand in records included."""
    if isinstance(item, Op | NDArray):
        return ()
    if isinstance(item, IRModule):
        return module_parts(item)
    return opener(kind_of(type_of(item)), ATOMS)(item)[0]


def module_parts(mod: IRModule) -> tuple[Any, ...]:
    """Return the objects in a module: types, functions by variables, attributes'.

    Functions may be other objects at each call, as a module may decode them.
    """
    functions = [one for pair in mod.functions.items() for one in pair]
    return (*mod.types.by_name.values(), *functions, *objects_in(mod.attrs, ATOMS))


class Maker(NamedTuple):
    """Makes the objects of a record.

    Attributes:
        size: How many numbers follow it in the stream.
        make: Returns an object, given those that the numbers are of, and numbers.
        own: How many of the numbers, the last ones, are its own. None if it has none,
            and may refer to objects of any depth.
    """

    size: int
    make: Make
    own: int | None = None


def constant(value: Any) -> Maker:
    """Return what makes one object, which is shared."""

    def same(_: tuple[Any, ...]) -> Any:
        return value

    return Maker(0, same)


def maker(kind: Kind, fields: Sequence[Field], forms: Sequence[Any]) -> Maker:
    """Return what makes objects of a record.

    The fields are checked against their annotations when the first object of others of
    these classes is made; what it raises then is a `Fault`.

    Args:
        kind: The kind.
        fields: Those of its fields that are not left at their default, in its order.
        forms: Their forms.

    Raises:
        ValueError: It is no such record.
    """
    parts: list[str] = []
    values: list[Any] = []
    count = own = 0
    for field, form in zip(fields, forms, strict=True):
        part, used = _part(field, form, count, values)
        parts.append(f"{field.name}={part}")
        count += used
        if field.form is Form.NUMBER and used:
            own += 1
    build, listed = _builders(kind, tuple(parts))
    if count and own == count:  # objects of one class always
        _check(fields, listed(values, range(count)).values())
        return Maker(count, partial(build, values), own)

    def check(objects: tuple[Any, ...]) -> None:
        _check(fields, listed(values, objects).values())

    make = _checked(kind, check, partial(build, values))
    if not is_shared(kind.make):
        return Maker(count, make)
    return Maker(count, make, own) if count else constant(make(()))


def _checked(kind: Kind, check: Callable[[tuple[Any, ...]], None], build: Make) -> Make:
    """Return what makes objects of a kind, and checks what it makes them of."""
    known: set[tuple[type[Any], ...]] = set()

    def make(objects: tuple[Any, ...]) -> Any:
        classes = tuple(map(type, objects))
        if classes not in known:
            check(objects)
            if len(known) < _MAX_KNOWN:
                known.add(classes)
        try:
            return build(objects)
        except Fault:
            raise
        except (ParpassError, TypeError, ValueError, OverflowError) as error:
            raise Fault("", f"{kind.name} cannot be made: {error}") from None

    return make


def _part(field: Field, form: Any, at: int, values: list[Any]) -> tuple[str, int]:
    """Return the expression of a field's value, and how many objects it takes.

    Args:
        field: The field.
        form: Its form.
        at: Where its objects begin, in the tuple `c`.
        values: What the expression refers to as `v`, to which it may add.
    """
    if type(form) is Holes:
        many = f"c[{at}:{at + form}]"
        is_mapping = field.form is Form.PAIRS
        return f"pairs({many}, '{field.place}')" if is_mapping else many, form
    if form is HOLE:
        return f"c[{at}]", 1
    count = 0 if type(form) in LEAVES else sum(1 for _ in holes_in(form))
    values.append(form if count else value_of(form, iter(()).__next__))
    value = f"v[{len(values) - 1}]"
    return f"fill({value}, c[{at}:{at + count}])" if count else value, count


@lru_cache(maxsize=10_000)
def _builders(kind: Kind, parts: tuple[str, ...]) -> tuple[Any, Any]:
    """Return functions to an object, and to the values of its fields, by name.

    Args:
        kind: The kind of the object.
        parts: The fields as arguments: of values `v` and objects `c`.
    """
    names = {"kind": kind.make, "fill": _filled, "pairs": _pairs, "dict": dict}
    arguments = ", ".join(parts)
    build, listed = (
        eval(_compiled(f"lambda v, c: {made}({arguments})"), names)
        for made in ("kind", "dict")
    )
    return build, listed


def _filled(form: Any, objects: Sequence[Any]) -> Any:
    return value_of(form, iter(objects).__next__)


def _pairs(objects: Sequence[Any], where: str) -> dict[Any, Any]:
    for at, key in enumerate(objects[::2]):
        if not isinstance(key, Node):
            raise Fault(f"{where}[{at}]", "expected a new key and a value")
    try:
        return mapping_of(objects)
    except RepeatedKeyError as error:
        raise Fault(f"{where}[{error.at}]", str(error)) from None


def _check(fields: Sequence[Field], values: Sequence[Any]) -> None:
    for field, value in zip(fields, values, strict=True):
        misfit = field.check(value)
        if misfit is not None:
            message = f"expected {misfit.expected}, not {misfit.found}"
            raise Fault(field.place + misfit.where, message)


@lru_cache(maxsize=1_000)
def _compiled(source: str) -> CodeType:
    return compile(source, "<fields>", "eval")
