"""What can stand in the table: the reflection of nodes, types, spans and attributes."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import structs

from parpass.diagnostic import Span
from parpass.errors import SizeLimitError
from parpass.ir.attrs import Attrs
from parpass.ir.declared import load_irs
from parpass.ir.module import IRModule
from parpass.ir.node import Node, Role, reflection, reflections
from parpass.ir.operators.op_table import Op
from parpass.ir.serialization.checks import Check, check_of
from parpass.ir.type_constraint import EnvFunc
from parpass.ir.types.ty import Any as UnknownDim
from parpass.ir.types.ty import Type
from parpass.ir.types.type_structure import MAX_TYPE_DEPTH

VERSION = 2  # of the format; a reader accepts its own version and those before

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
    """A class of structs that may stand in the table.

    Attributes:
        make: The class.
        fields: Its fields by name.
        required: The names of those that have no default.
        rival: Another class of the same name, if there is one: neither can be meant.
    """

    make: type[Struct]
    fields: dict[str, Field]
    required: frozenset[str]
    rival: type[Struct] | None = None


def kind_name(make: type[Any]) -> str:
    """Return the name of a class in the table, such as `relay.Var`."""
    namespace: str = getattr(make, "namespace", "")
    return f"{namespace}.{make.__name__}" if namespace else make.__name__


def known_kinds() -> dict[str, Kind]:
    """Return all kinds by name; operators, arrays and modules have forms of their own.

    Attributes are those of the operator table.
    """
    found: dict[str, Kind] = {}
    for one in _classes():
        kind, name = _kind(one), kind_name(one)
        if name in found and found[name].make is not one:
            kind = replace(kind, rival=found[name].make)
        found[name] = kind
    return found


def unqualified(kinds: dict[str, Kind]) -> dict[str, Kind]:
    """Return kinds by the names that they had in version 1, without a namespace.

    They are Relay's. Where attributes had the name of a node or a type, that is meant.
    """
    found: dict[str, Kind] = {}
    for name, kind in kinds.items():
        if name.startswith("relay.") or "." not in name:
            found.setdefault(name.rpartition(".")[2], kind)
    return found


def ambiguous(kind: Kind) -> str:
    """Return what is wrong with a kind that has a rival."""
    classes = [make for make in (kind.make, kind.rival) if make is not None]
    listed = " and ".join(f"{one.__module__}.{one.__qualname__}" for one in classes)
    return (
        f"expected one class named '{kind_name(kind.make)}', got {listed}; give one of "
        "them another `namespace`"
    )


def depth_of(item: Any, inside: int) -> int:
    """Return how deep types and values are nested in an object, as `ty.extent` has it.

    Expressions may be of any depth; what is in their types and attributes is not.

    Args:
        item: The object.
        inside: The depth of the deepest one that it refers to; -1 if there is none.

    Raises:
        SizeLimitError: It is too deep.
    """
    if isinstance(item, UnknownDim):  # a part of a tensor's type
        return -1
    depth = max(inside, 0) if isinstance(item, Node | IRModule) else inside + 1
    if depth > MAX_TYPE_DEPTH:
        raise SizeLimitError(
            f"this {type(item).__name__} is nested more than {MAX_TYPE_DEPTH} deep"
        )
    return depth


def _classes() -> list[type[Struct]]:
    load_irs()  # whose nodes, and operators with their attributes, are asked for
    found: list[type[Struct]] = [
        one.kind for one in reflections() if one.kind is not Op
    ]
    found += [UnknownDim, Span, EnvFunc, *_subclasses(Type)]
    return found + _attrs_types()


def _subclasses(base: type[Type]) -> Iterator[type[Type]]:
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


def _attrs_types() -> list[type[Attrs]]:
    ops = [Op.get(name) for name in Op.list_op_names()]
    return [op.attrs_type for op in ops if op.attrs_type is not None]


@functools.cache
def _kind(make: type[Struct]) -> Kind:
    roles = reflection(make).roles if issubclass(make, Node) else {}
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
        if roles.get(info.name) is not Role.DERIVED
    }
    required = frozenset(one.name for one in infos if one.required) & fields.keys()
    return Kind(make, fields, required)
