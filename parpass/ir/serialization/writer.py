"""Writer of the JSON format."""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.attrs import INTS, DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.node import FieldKind, Node
from parpass.ir.op_table import Op
from parpass.ir.serialization.arrays import array_as_json
from parpass.ir.serialization.schema import (
    VERSION,
    Field,
    Kind,
    ambiguous,
    depth_of,
    kind_name,
    known_kinds,
)
from parpass.ir.text.literals import float_word
from parpass.ir.type_structure import MAX_NESTING
from parpass.runtime.ndarray import NDArray

_OBJECTS = (msgspec.Struct, NDArray, IRModule)  # what gets an entry of the table
_SINGLE = {
    FieldKind.CHILD,
    FieldKind.OPTIONAL,
    FieldKind.BINDING,
    FieldKind.PATTERN,
    FieldKind.META,
}
_MANY = {FieldKind.CHILDREN, FieldKind.BINDINGS}
_TYPES = {FieldKind.TYPE, FieldKind.TYPE_BINDINGS}

Numbers = Callable[[Any], int]


def save_json(value: Any) -> str:
    """Return an expression, a type, attributes, a module, or a tuple of them as JSON.

    Inferred types and spans are kept, and sharing is preserved.

    Raises:
        IRTypeError: It contains an object that is neither IR nor a plain value.
    """
    table = _Table()
    root = table.add(value)
    lines = b",\n".join(table.lines).decode()
    head = f'{{"parpass": {VERSION}, "nodes": ['
    return f'{head}\n{lines}\n], "root": {_encoded(root).decode()}}}\n'


class _Table:
    """The entries so far, and the numbers of their objects."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._kinds = known_kinds()
        self._numbers: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._known: dict[bytes, int] = {}
        self._kept: list[Any] = []  # so that no id is given to another object
        self._functions: dict[int, list[tuple[Any, Any]]] = {}

    def add(self, value: Any) -> Any:
        """Add entries for all objects in a value, and return the value's form."""
        opened: set[int] = set()
        stack = _references(value)[::-1]
        closing: list[tuple[Any, list[Any]]] = []
        while stack:
            item = stack.pop()
            if item is _CLOSE:
                self._enter(*closing.pop())
                continue
            if id(item) in self._numbers:
                continue
            if id(item) in opened:
                raise IRTypeError(f"this {type(item).__name__} contains itself")
            opened.add(id(item))
            parts = self._parts(item)
            closing.append((item, parts))
            stack.append(_CLOSE)
            stack += parts[::-1]
        return _form(value, self._number)

    def _number(self, item: Any) -> int:
        return self._numbers[id(item)]

    def _enter(self, item: Any, parts: list[Any]) -> None:
        inside = max([self._depths[id(part)] for part in parts], default=-1)
        self._depths[id(item)] = depth_of(item, inside)
        line = _encoded({_name(item): self._body(item)})
        number = len(self.lines)
        if isinstance(item, Op) or not isinstance(item, Node | IRModule):
            number = self._known.setdefault(line, number)
        if number == len(self.lines):
            self.lines.append(line)
        self._numbers[id(item)] = number
        self._kept.append(item)

    def _body(self, item: Any) -> Any:
        if isinstance(item, NDArray):
            return array_as_json(item)
        if isinstance(item, Op):
            return item.name
        if isinstance(item, IRModule):
            return {
                "functions": [
                    [self._number(var), self._number(function)]
                    for var, function in self._functions_of(item)
                ],
                "attrs": _form(item.attrs, self._number),
                "sources": item.sources,
                **self._definitions(item),
            }
        body: dict[str, Any] = {}
        for field in self._kind(item).fields.values():
            value = getattr(item, field.name)
            if not field.is_left_out(value):
                body[field.name] = _field_form(field, value, self._number)
        return body

    def _parts(self, item: Any) -> list[Any]:
        """Return the objects that an object refers to."""
        if isinstance(item, NDArray | Op):
            return []
        if isinstance(item, IRModule):
            pairs = self._functions_of(item)
            functions = [one for pair in pairs for one in pair]
            return [
                *item.types.by_name.values(),
                *functions,
                *_references(item.attrs),
            ]
        parts: list[Any] = []
        for field in self._kind(item).fields.values():
            value = getattr(item, field.name)
            if value is None:
                continue
            if field.field_kind in _MANY:
                parts += value
            elif field.field_kind in _SINGLE:
                parts.append(value)
            elif field.field_kind is FieldKind.MAPPING:
                parts += (one for pair in value.items() for one in pair)
            else:
                parts += _references(value)
        return parts

    def _definitions(self, mod: IRModule) -> dict[str, Any]:
        found = [self._number(one) for one in mod.types.by_name.values()]
        return {"type_definitions": found} if found else {}

    def _functions_of(self, mod: IRModule) -> list[tuple[Any, Any]]:
        # Called once: a module may decode its functions at each access.
        if id(mod) not in self._functions:
            self._functions[id(mod)] = list(mod.functions.items())
        return self._functions[id(mod)]

    def _kind(self, item: Any) -> Kind:
        kind = self._kinds.get(_name(item))
        if kind is not None and kind.rival is not None:
            raise IRTypeError(ambiguous(kind))
        if kind is None or kind.make is not type(item):
            raise IRTypeError(
                f"a {type(item).__name__} cannot be saved: it is no node, type or "
                "span, and no registered operator has such attributes"
            )
        return kind


_CLOSE = object()  # on the stack: what an object refers to has been entered


def _name(item: Any) -> str:
    for kind in (IRModule, NDArray, Op):
        if isinstance(item, kind):
            return kind.__name__
    return kind_name(cast("type[Any]", type(item)))


def _field_form(field: Field, value: Any, number: Numbers) -> Any:
    if field.field_kind in _MANY or (
        field.field_kind in _TYPES and isinstance(value, tuple)
    ):
        return [number(one) for one in cast("tuple[Any, ...]", value)]
    if field.field_kind in _SINGLE or field.field_kind in _TYPES:
        return None if value is None else number(value)
    if field.field_kind is FieldKind.MAPPING:
        pairs = cast("Mapping[Any, Any]", value).items()
        return [[number(key), number(one)] for key, one in pairs]
    return _form(value, number)


def _references(value: Any, nesting: int = 0) -> list[Any]:
    """Return the objects in a plain value."""
    if isinstance(value, _OBJECTS):
        return [value]
    if isinstance(value, tuple | list):
        items = cast("list[Any]", value)
    elif isinstance(value, dict | DictAttrs):
        pairs = cast("Mapping[Any, Any]", value).items()
        items = [one for pair in pairs for one in pair]
    else:
        return []
    if nesting > MAX_NESTING:
        raise SizeLimitError(f"attributes are nested more than {MAX_NESTING} deep")
    return [one for item in items for one in _references(item, nesting + 1)]


def _form(value: Any, number: Numbers) -> Any:
    """Return a plain value in JSON: a tuple becomes a list, an object gets a tag."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and int(value) in INTS:  # of its subclasses, plain values
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": float_word(value)}
    if isinstance(value, bytes):
        return {"bytes": binascii.b2a_base64(value, newline=False).decode("ascii")}
    if isinstance(value, _OBJECTS):
        return {"ref": number(value)}
    if isinstance(value, tuple | list):
        items = [_form(one, number) for one in cast("list[Any]", value)]
        return items if isinstance(value, tuple) else {"list": items}
    if isinstance(value, dict | DictAttrs):
        return _mapping_form(cast("Mapping[Any, Any]", value), number)
    raise IRTypeError(
        "expected plain values (numbers of 64 bits, strings, tuples, mappings) in "
        f"attributes, got {type(value).__name__}"
    )


def _mapping_form(mapping: Mapping[Any, Any], number: Numbers) -> Any:
    if not all(isinstance(key, str) for key in mapping):
        pairs = mapping.items()
        forms = [[_form(key, number), _form(one, number)] for key, one in pairs]
        return {"pairs": forms}
    tag = "DictAttrs" if isinstance(mapping, DictAttrs) else "dict"
    return {tag: {key: _form(one, number) for key, one in mapping.items()}}


def _encoded(form: Any) -> bytes:
    try:
        return msgspec.json.encode(form)
    except (TypeError, ValueError) as error:  # such as lone surrogates
        raise IRTypeError(f"a value cannot be saved: {error}") from None
