"""Writer of the JSON format."""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.attrs import INTS, DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.op_table import Op
from parpass.ir.serialization.arrays import array_as_json
from parpass.ir.serialization.schema import (
    VERSION,
    Form,
    Kind,
    ambiguous,
    depth_of,
    kind_name,
    known_kinds,
)
from parpass.ir.text.literals import float_word
from parpass.ir.type_structure import MAX_NESTING
from parpass.runtime.ndarray import NDArray

_OBJECTS = msgspec.Struct, NDArray, IRModule  # what gets an entry of the table
_UNSHARED = Node, IRModule  # what gets an entry each, though it equals another
_AS_THEY_ARE = frozenset({bool, str, type(None)})  # types of values
_CLOSE = object()  # on the stack: what an object refers to has been entered


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


class _Opened(NamedTuple):
    """An object whose parts are entered before it.

    Attributes:
        item: The object.
        kind: Its kind; None for an operator, an array or a module.
        values: The values of the fields of the kind.
        parts: The objects that it refers to.
    """

    item: Any
    kind: Kind | None
    values: Sequence[Any]
    parts: list[Any]


class _Table:
    """The entries so far, and the numbers of their objects."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._kinds_by_name = known_kinds()
        self._kinds: dict[type[Any], Kind] = {}
        self._numbers: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._known: dict[bytes, int] = {}
        self._kept: list[Any] = []  # so that no id is given to another object
        self._functions: dict[int, list[tuple[Any, Any]]] = {}

    def add(self, value: Any) -> Any:
        """Add entries for all objects in a value, and return the value's form."""
        opened: set[int] = set()
        stack = _references(value)[::-1]
        closing: list[_Opened] = []
        numbers = self._numbers
        while stack:
            item = stack.pop()
            if item is _CLOSE:
                self._enter(closing.pop())
                continue
            if id(item) in numbers:
                continue
            if id(item) in opened:
                raise IRTypeError(f"this {type(item).__name__} contains itself")
            opened.add(id(item))
            one = self._open(item)
            if not one.parts:
                self._enter(one)
                continue
            closing.append(one)
            stack.append(_CLOSE)
            stack += one.parts[::-1]
        return _form(value, self._number)

    def _number(self, item: Any) -> int:
        return self._numbers[id(item)]

    def _open(self, item: Any) -> _Opened:
        kind = self._kinds.get(cast("type[Any]", type(item)))
        if kind is None:
            if isinstance(item, NDArray | Op):
                return _Opened(item, None, (), [])
            if isinstance(item, IRModule):
                functions = [one for pair in self._functions_of(item) for one in pair]
                types = item.types.by_name.values()
                parts = [*types, *functions, *_references(item.attrs)]
                return _Opened(item, None, (), parts)
            kind = self._find_kind(item)
        values = kind.values(item)
        return _Opened(item, kind, values, _parts(kind, values))

    def _enter(self, opened: _Opened) -> None:
        item, kind, values, parts = opened
        inside, depths = -1, self._depths
        for part in parts:
            depth = depths[id(part)]
            if depth > inside:
                inside = depth
        depths[id(item)] = depth_of(item, inside)
        number = len(self.lines)
        if kind is None:
            line = _encoded({_name(item): self._body(item)})
        else:
            line = _encoded({kind.name: self._fields(kind, values)})
        if isinstance(item, Op) or not isinstance(item, _UNSHARED):
            number = self._known.setdefault(line, number)
        if number == len(self.lines):
            self.lines.append(line)
        self._numbers[id(item)] = number
        self._kept.append(item)

    def _fields(self, kind: Kind, values: Sequence[Any]) -> dict[str, Any]:
        """Return the fields that are not left out, by name."""
        body: dict[str, Any] = {}
        numbers = self._numbers
        for field, value in zip(kind.fields.values(), values, strict=True):
            form = field.form
            if value is None:
                if not field.omits_none:
                    body[field.name] = None
            elif field.omits_empty and value == ():
                continue
            elif form is Form.REFERENCES or (
                form is Form.TYPES and isinstance(value, tuple)
            ):
                many = cast("tuple[Any, ...]", value)
                body[field.name] = [numbers[id(one)] for one in many]
            elif form is Form.PLAIN:
                body[field.name] = _form(value, self._number)
            elif form is Form.PAIRS:
                pairs = cast("Mapping[Any, Any]", value).items()
                body[field.name] = [
                    [numbers[id(key)], numbers[id(one)]] for key, one in pairs
                ]
            else:
                body[field.name] = numbers[id(value)]
        return body

    def _body(self, item: Any) -> Any:
        """Return the form of an operator, an array or a module."""
        if isinstance(item, NDArray):
            return array_as_json(item)
        if isinstance(item, Op):
            return item.name
        return {
            "functions": [
                [self._number(var), self._number(function)]
                for var, function in self._functions_of(item)
            ],
            "attrs": _form(item.attrs, self._number),
            "sources": item.sources,
            **self._definitions(item),
        }

    def _definitions(self, mod: IRModule) -> dict[str, Any]:
        found = [self._number(one) for one in mod.types.by_name.values()]
        return {"type_definitions": found} if found else {}

    def _functions_of(self, mod: IRModule) -> list[tuple[Any, Any]]:
        # Called once: a module may decode its functions at each access.
        if id(mod) not in self._functions:
            self._functions[id(mod)] = list(mod.functions.items())
        return self._functions[id(mod)]

    def _find_kind(self, item: Any) -> Kind:
        make = cast("type[Any]", type(item))
        kind = self._kinds_by_name.get(kind_name(make))
        if kind is not None and kind.rival is not None:
            raise IRTypeError(ambiguous(kind))
        if kind is None or kind.make is not make:
            raise IRTypeError(
                f"a {make.__name__} cannot be saved: it is no node, type or "
                "span, and no registered operator has such attributes"
            )
        self._kinds[make] = kind
        return kind


def _name(item: Any) -> str:
    return next(
        one.__name__ for one in (IRModule, NDArray, Op) if isinstance(item, one)
    )


def _parts(kind: Kind, values: Sequence[Any]) -> list[Any]:
    """Return the objects that an object with these values refers to."""
    parts: list[Any] = []
    for field, value in zip(kind.fields.values(), values, strict=True):
        form = field.form
        if value is None:
            continue
        if form is Form.REFERENCES or (form is Form.TYPES and isinstance(value, tuple)):
            parts += value
        elif form is Form.PAIRS:
            parts += (one for pair in value.items() for one in pair)
        elif form is Form.PLAIN:
            if type(value) not in _AS_THEY_ARE:
                parts += _references(value)
        else:
            parts.append(value)
    return parts


def _references(value: Any, nesting: int = 0) -> list[Any]:
    """Return the objects in a plain value."""
    if isinstance(value, _OBJECTS):
        return [value]
    if isinstance(value, (tuple, list)):
        items = cast("list[Any]", value)
    elif isinstance(value, (dict, DictAttrs)):
        pairs = cast("Mapping[Any, Any]", value).items()
        items = [one for pair in pairs for one in pair]
    else:
        return []
    if nesting > MAX_NESTING:
        raise SizeLimitError(f"attributes are nested more than {MAX_NESTING} deep")
    return [one for item in items for one in _references(item, nesting + 1)]


def _form(value: Any, number: Callable[[Any], int]) -> Any:
    """Return a plain value in JSON: a tuple becomes a list, an object gets a tag."""
    if type(value) in _AS_THEY_ARE or isinstance(value, str):
        return value
    if isinstance(value, int) and int(value) in INTS:  # of its subclasses, plain values
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": float_word(value)}
    if isinstance(value, bytes):
        return {"bytes": binascii.b2a_base64(value, newline=False).decode("ascii")}
    if isinstance(value, _OBJECTS):
        return {"ref": number(value)}
    if isinstance(value, (tuple, list)):
        items = [_form(one, number) for one in cast("list[Any]", value)]
        return items if isinstance(value, tuple) else {"list": items}
    if isinstance(value, (dict, DictAttrs)):
        return _mapping_form(cast("Mapping[Any, Any]", value), number)
    raise IRTypeError(
        "expected plain values (numbers of 64 bits, strings, tuples, mappings) in "
        f"attributes, got {type(value).__name__}"
    )


def _mapping_form(mapping: Mapping[Any, Any], number: Callable[[Any], int]) -> Any:
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
