"""The layout of a kind in records, and the functions that write and make its objects.

A record is the kind and all of an object but the objects that it refers to: their
numbers follow it in the stream. So the calls of one type in a program have one record.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from parpass.ir.node import Node
from parpass.ir.op_table import Op
from parpass.ir.portable.value_forms import (
    HOLE,
    LEAVES,
    form_of,
    holes_in,
    key_of,
    objects_in,
    value_of,
)
from parpass.ir.serialization.schema import Field, Form, Kind
from parpass.ir.types import IncompleteType, TensorType

_MAX_KNOWN = 1_000  # lists of classes that are known to fit a record

_COUNTED = Form.REFERENCES, Form.PAIRS

Opened = tuple[tuple[Any, ...], Any]  # the objects in an object, and its key
Make = Callable[[tuple[Any, ...]], Any]  # an object of those that it refers to


def is_shared(make: type[Any]) -> bool:
    """Return whether equal objects of a class are one object in the table."""
    return issubclass(make, Op) or not issubclass(make, Node | IncompleteType)


def token_of(kind: Kind) -> bytes:
    """Return what tells a kind from others, that had the name in another program.

    That is the names of its fields: values are read in their order.
    """
    names = f"{kind.name} {' '.join(kind.fields)}"
    return hashlib.blake2b(names.encode(), digest_size=4).digest()


# The generated functions run for every object that is written or read, as those of
# `parpass.ir.node` do, and are generated for the same reason.


def opener(kind: Kind) -> Callable[[Any], Opened]:
    """Return a function from an object to the objects in it, and a key of its record.

    Objects of equal keys have equal records. One that cannot be hashed has none.
    """
    inside: list[str] = []
    key = ["kind"]
    for field in kind.fields.values():
        value = f"n.{field.name}"
        match field.form:
            case Form.REFERENCE | Form.OPTIONAL:
                inside.append(f"*(() if type({value}) in LEAVES else ({value},))")
                key.append(f"({value} if type({value}) in LEAVES else HOLE)")
            case Form.REFERENCES:
                inside.append(f"*{value}")
                key.append(f"len({value})")
            case Form.TYPES:  # of tensors, nearly always
                are_tensors = f"type({value}) is tuple and TENSORS(map(type, {value}))"
                inside.append(f"*(() if {are_tensors} else objects_in({value}))")
                key.append(f"({value} if {are_tensors} else key_of({value}))")
            case Form.PAIRS:
                inside.append(f"*[one for pair in {value}.items() for one in pair]")
                key.append(f"len({value})")
            case Form.PLAIN:
                inside.append(
                    f"*(() if type({value}) in LEAVES else objects_in({value}))"
                )
                key.append(f"({value} if type({value}) in PLAIN else key_of({value}))")
    names = {
        "kind": kind.make,
        "HOLE": HOLE,
        "LEAVES": LEAVES,
        "PLAIN": (str, type(None)),
        "TENSORS": frozenset({TensorType}).issuperset,
        "objects_in": objects_in,
        "key_of": key_of,
    }
    objects = "".join(f"{one}," for one in inside)
    return eval(_compiled(f"lambda n: (({objects}), ({', '.join(key)},))"), names)


def forms_of(kind: Kind, item: Any) -> list[Any]:
    """Return the fields of an object for its record: counts, for lists of objects."""
    forms: list[Any] = []
    for field in kind.fields.values():
        value = getattr(item, field.name)
        is_counted = field.form in _COUNTED
        forms.append(len(value) if is_counted else form_of(value))
    return forms


def maker(kind: Kind, forms: Sequence[Any]) -> tuple[int, Make]:
    """Return what makes objects of a record, and of how many objects each.

    The fields are checked against their annotations when the first object of others of
    these classes is made; what it raises then is a `ValueError`, or of the kind.

    Args:
        kind: The kind.
        forms: The fields, as `forms_of` gave them.

    Raises:
        ValueError: It is no such record.
    """
    fields = list(kind.fields.values())
    if len(forms) != len(fields):
        raise ValueError(f"expected {len(fields)} fields of {kind.name}")
    parts: list[str] = []
    values: list[Any] = []
    count = 0
    for field, form in zip(fields, forms, strict=True):
        part, used = _part(field, form, count, values)
        parts.append(part)
        count += used
    named = parts
    if not issubclass(kind.make, Node):  # some take their fields by name alone
        named = [
            f"{field.name}={part}" for field, part in zip(fields, parts, strict=True)
        ]
    names = {"kind": kind.make, "fill": _filled, "pairs": _pairs, "v": values}
    build: Make = eval(_compiled(f"lambda c: kind({', '.join(named)})"), names)
    listed: Make = eval(_compiled(f"lambda c: [{', '.join(parts)}]"), names)
    known: set[tuple[type[Any], ...]] = set()

    def make(objects: tuple[Any, ...]) -> Any:
        classes = tuple(map(type, objects))
        if classes not in known:
            _check(fields, listed(objects))
            if len(known) < _MAX_KNOWN:
                known.add(classes)
        return build(objects)

    return count, make


def _part(field: Field, form: Any, at: int, values: list[Any]) -> tuple[str, int]:
    """Return the expression of a field's value, and how many objects it takes.

    Args:
        field: The field.
        form: Its form.
        at: Where its objects begin, in the tuple `c`.
        values: What the expression refers to as `v`, to which it may add.
    """
    if field.form in _COUNTED:
        if type(form) is not int or form < 0:
            raise ValueError(f"expected a count for {field.name}")
        if field.form is Form.PAIRS:
            return f"pairs(c[{at}:{at + 2 * form}])", 2 * form
        return f"c[{at}:{at + form}]", form
    if form is HOLE:
        return f"c[{at}]", 1
    count = sum(1 for _ in holes_in(form))
    if count:
        values.append(form)
        return f"fill(v[{len(values) - 1}], c[{at}:{at + count}])", count
    values.append(value_of(form, iter(()).__next__))
    return f"v[{len(values) - 1}]", 0


def _filled(form: Any, objects: Sequence[Any]) -> Any:
    return value_of(form, iter(objects).__next__)


def _pairs(objects: Sequence[Any]) -> dict[Any, Any]:
    keys = objects[::2]
    found = dict(zip(keys, objects[1::2], strict=True))
    if len(found) < len(keys) or not all(isinstance(one, Node) for one in keys):
        raise ValueError("expected keys that are nodes, and differ")
    return found


def _check(fields: Sequence[Field], values: Sequence[Any]) -> None:
    for field, value in zip(fields, values, strict=True):
        misfit = field.check(value)
        if misfit is not None:
            raise ValueError(f"expected {misfit.expected} for {field.name}")


@functools.lru_cache(maxsize=1_000)
def _compiled(source: str) -> CodeType:
    return compile(source, "<fields>", "eval")
