"""The schema of tables: kinds of objects, their fields, and checks of field values.

A kind is a class of nodes, types, spans or attributes whose objects have rows in a
table, found by its qualified name. `check_of` derives from a field's annotation a check
of values from outside. `make_node` constructs an object from name and fields.
"""

from __future__ import annotations

import enum
import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import structs

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.errors.core import did_you_mean
from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.dialect import load_dialects
from parpass.ir.node import FieldKind, Node, reflection, reflections
from parpass.ir.op.op_table import Op, attrs_types
from parpass.ir.op.type_relation import EnvFunc
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Type

Struct = msgspec.Struct


class Misfit(NamedTuple):
    """Place, expected type and actual type of an invalid part of a value."""

    where: str
    expected: str
    found: str


Check = Callable[[Any], Misfit | None]


def check_of(annotation: Any) -> Check:
    """Return a check of values against an annotation; it returns None if valid."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return lambda _: None
    if origin in (typing.Union, types.UnionType):
        return _union(args)
    if origin is tuple:
        return _tuple_of(args[0]) if args[1:] == (...,) else _exact_tuple(args)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _instance(Mapping)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _instance(Sequence)
    if isinstance(annotation, type):
        return _plain(annotation)
    return lambda _: None  # a user's operator may say more than can be checked here


def _plain(kind: type) -> Check:
    exact: dict[type, tuple[type, ...]] = {
        int: (int,),
        bool: (bool,),
        float: (float, int),
    }
    if kind not in exact:
        return _instance(kind)
    wanted, name = exact[kind], kind.__name__
    return lambda value: None if type(value) in wanted else _misfit(name, value)


def _instance(kind: type) -> Check:
    name = "None" if kind is type(None) else kind.__name__
    return lambda value: None if isinstance(value, kind) else _misfit(name, value)


def _misfit(expected: str, value: Any) -> Misfit:
    return Misfit("", expected, type(value).__name__)


def _union(options: tuple[Any, ...]) -> Check:
    checks = [check_of(option) for option in options]

    def check(value: Any) -> Misfit | None:
        found: list[str] = []
        for one in checks:
            misfit = one(value)
            if misfit is None:
                return None
            found.append(misfit.expected)
        return _misfit(" or ".join(found), value)

    return check


def _tuple_of(item: Any) -> Check:
    check_item = check_of(item)

    def check(value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _misfit("a tuple", value)
        for at, one in enumerate(typing.cast("tuple[Any, ...]", value)):
            misfit = check_item(one)
            if misfit is not None:
                return _within(misfit, at)
        return None

    return check


def _exact_tuple(items: tuple[Any, ...]) -> Check:
    checks = [check_of(item) for item in items]

    def check(value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _misfit("a tuple", value)
        items = typing.cast("tuple[Any, ...]", value)
        if len(items) != len(checks):
            return Misfit("", f"{len(checks)} items", str(len(items)))
        for at, (check_item, one) in enumerate(zip(checks, items, strict=True)):
            misfit = check_item(one)
            if misfit is not None:
                return _within(misfit, at)
        return None

    return check


def _within(misfit: Misfit, at: int) -> Misfit:
    return misfit._replace(where=f"[{at}]{misfit.where}")


class Form(enum.Enum):
    """The content of a field; in a table the numbers of objects stand for them."""

    REFERENCE = "an object"
    OPTIONAL = "an object, or None"
    REFERENCES = "a tuple of objects"
    TYPES = "an object, a tuple of objects, or None"
    PAIRS = "a mapping from objects to objects"
    PLAIN = "a plain value, in which there may be objects"
    NUMBER = "an int, mostly another one in each object; such fields are the last ones"


_FORMS = {
    FieldKind.CHILD: Form.REFERENCE,
    FieldKind.BINDING: Form.REFERENCE,
    FieldKind.PATTERN: Form.REFERENCE,
    FieldKind.OPTIONAL: Form.OPTIONAL,
    FieldKind.META: Form.OPTIONAL,
    FieldKind.CHILDREN: Form.REFERENCES,
    FieldKind.BINDINGS: Form.REFERENCES,
    FieldKind.TYPE: Form.TYPES,
    FieldKind.TYPE_BINDINGS: Form.TYPES,
    FieldKind.MAPPING: Form.PAIRS,
    FieldKind.VALUE: Form.PLAIN,
}


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of a kind.

    None and an empty tuple are two values where a field has both: no axes are not all
    axes. So each is left out only where it is the default.

    Attributes:
        name: Its name.
        form: Its form; fields of types, spans and attributes are plain values.
        omits_none: Whether None is the default, which JSON leaves out.
        omits_empty: Whether the empty tuple is.
        check: Checks a value against its annotation.
        place: Its place in a row, for messages.
    """

    name: str
    form: Form
    omits_none: bool
    omits_empty: bool
    check: Check
    place: str


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A class of structs whose objects have rows.

    Attributes:
        name: Its name in the table, such as `relay.Var`.
        make: The class.
        fields: Its fields by name.
        required: The names of those that have no default.
        rival: Another class of that name, if any: the name is ambiguous then.
    """

    name: str
    make: type[Struct]
    fields: dict[str, Field]
    required: frozenset[str]
    rival: type[Struct] | None = None


def kind_name(make: type[Any]) -> str:
    """Return the name of a class in the table, such as `relay.Var`."""
    namespace: str = getattr(make, "namespace", "")
    return f"{namespace}.{make.__name__}" if namespace else make.__name__


class KnownKinds(Mapping[str, Kind]):
    """Kinds by name; what annotations say is looked up for those that are asked for."""

    def __init__(self, classes: Sequence[type[Struct]]) -> None:
        self._classes: dict[str, type[Struct]] = {}
        self._rivals: dict[str, type[Struct]] = {}
        for one in classes:
            name = kind_name(one)
            before = self._classes.get(name, one)
            if before is not one:
                self._rivals[name] = before
            self._classes[name] = one

    def __getitem__(self, name: str) -> Kind:
        kind, rival = kind_of(self._classes[name]), self._rivals.get(name)
        return kind if rival is None else replace(kind, rival=rival)

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


def known_kinds() -> KnownKinds:
    """Return all kinds by name; operators, arrays and modules have other forms.

    Attributes are those of the operator table.
    """
    return _kinds_of(_classes())


_kinds_of = functools.lru_cache(maxsize=4)(KnownKinds)


def ambiguous(kind: Kind) -> str:
    """Return the error message for a kind that has a rival."""
    classes = [make for make in (kind.make, kind.rival) if make is not None]
    listed = " and ".join(f"{one.__module__}.{one.__qualname__}" for one in classes)
    return (
        f"expected one class named '{kind.name}', got {listed}; give one of "
        "them another `namespace`"
    )


def _classes() -> tuple[type[Struct], ...]:
    load_dialects()  # whose nodes, and operators with their attributes, are asked for
    found: list[type[Struct]] = [
        one.kind for one in reflections() if one.kind is not Op
    ]
    found += [UnknownDim, Span, EnvFunc, *_subclasses(Type)]
    return (*found, *attrs_types())


def _subclasses(base: type[Type]) -> Iterator[type[Type]]:
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


@functools.cache
def kind_of(make: type[Struct]) -> Kind:
    """Return the kind of a class, which may have rivals."""
    field_kinds = reflection(make).field_kinds if issubclass(make, Node) else {}
    hints: dict[str, Any] = typing.get_type_hints(make)
    infos = structs.fields(make)
    fields = {
        info.name: Field(
            info.name,
            Form.NUMBER
            if make is Span and hints[info.name] is int
            else _FORMS[field_kinds.get(info.name, FieldKind.VALUE)],
            info.default is None,
            info.default == (),
            check_of(hints[info.name]),
            f".{info.name}",
        )
        for info in infos
        if field_kinds.get(info.name) is not FieldKind.DERIVED
    }
    required = frozenset(one.name for one in infos if one.required) & fields.keys()
    return Kind(kind_name(make), make, fields, required)


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Construct a node, type or attributes by class name.

    Args:
        type_key: `DictAttrs`, or the name of a class as `save_json` writes it, such as
            `relay.attrs.ClipAttrs`.
        **kwargs: Its fields; those with a default may be omitted.

    Raises:
        IRTypeError: The class is unknown, or has other fields.
    """
    if type_key == "DictAttrs":
        return DictAttrs(kwargs)
    kinds = known_kinds()
    kind = kinds.get(type_key)
    if kind is None:
        raise IRTypeError(f"no node named '{type_key}'{did_you_mean(type_key, kinds)}")
    if kind.rival is not None:
        raise IRTypeError(ambiguous(kind))
    fields = {name: _unlisted(value) for name, value in kwargs.items()}
    for name, value in fields.items():
        field = kind.fields.get(name)
        if field is None:
            hint = did_you_mean(name, kind.fields)
            raise IRTypeError(f"'{type_key}' has no field named '{name}'{hint}")
        misfit = field.check(value)
        if misfit is not None:
            where = f"{name}{misfit.where}"
            raise IRTypeError(
                f"'{type_key}': expected {misfit.expected} for {where}, "
                f"not {misfit.found}"
            )
    missing = sorted(kind.required - fields.keys())
    if missing:
        raise IRTypeError(f"'{type_key}' needs the fields {', '.join(missing)}")
    made = kind.make(**fields)
    if isinstance(made, Attrs):
        made.check()
    return made


def _unlisted(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return tuple(map(_unlisted, cast("Sequence[Any]", value)))
