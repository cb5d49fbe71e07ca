"""What can stand in the table: the reflection of nodes, types, spans and attributes."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec
from msgspec import structs

from parpass.diagnostic import Span
from parpass.relay.node import Node, Role, layout, layouts
from parpass.relay.op.registry import Attrs, Op
from parpass.relay.serialization.checks import Check, check_of
from parpass.relay.ty import Any as UnknownDim
from parpass.relay.ty import Type

VERSION = 1  # of the format; a reader accepts its own version and those before
INTS = range(-(2**63), 2**64)  # in attributes, as structural equality has them
MAX_NESTING = 64  # of lists and mappings in attributes

Struct = msgspec.Struct


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a kind.

    Attributes:
        name: Its name.
        role: What it is; the fields of types, spans and attributes are plain values.
        left_out: Whether the field is left out where it is None or empty, which is
            then its default.
        check: Whether a value fits its annotation.
    """

    name: str
    role: Role
    left_out: bool
    check: Check


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of structs that may stand in the table, under its own name."""

    make: type[Struct]
    fields: dict[str, Field]
    required: frozenset[str]


def known_kinds() -> dict[str, Kind]:
    """Return all kinds by name; operators, arrays and modules have forms of their own.

    Attributes are those of the operator table.
    """
    import_module("parpass.relay.op")  # fills the table
    found: list[type[Struct]] = [one.kind for one in layouts() if one.kind is not Op]
    found += [UnknownDim, Span, *_subclasses(Type)]
    found += _attrs_types()
    return {one.__name__: _kind(one) for one in found}


def _subclasses(base: type[Type]) -> Iterator[type[Type]]:
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


def _attrs_types() -> list[type[Attrs]]:
    ops = [Op.get(name) for name in Op.list_op_names()]
    return [op.attrs_type for op in ops if op.attrs_type is not None]


@functools.cache
def _kind(make: type[Struct]) -> Kind:
    roles = layout(make).roles if issubclass(make, Node) else {}
    hints: dict[str, Any] = typing.get_type_hints(make)
    infos = structs.fields(make)
    fields = {
        info.name: Field(
            info.name,
            roles.get(info.name, Role.VALUE),
            info.default is None or info.default == (),
            check_of(hints[info.name]),
        )
        for info in infos
    }
    return Kind(make, fields, frozenset(one.name for one in infos if one.required))
