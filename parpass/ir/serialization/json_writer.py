"""Writer of JSON: each row of a table is a line of text."""

from __future__ import annotations

import binascii
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.attrs import INTS, DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.arrays import array_as_json
from parpass.ir.serialization.records import has_own_numbers, module_parts
from parpass.ir.serialization.schema import Field, Form, Kind, known_kinds
from parpass.ir.serialization.table_writer import TableWriter
from parpass.ir.serialization.value_forms import ATOMS, OBJECTS, objects_in
from parpass.ir.text.literals import float_word

# Of the format. It is another one whenever a kind, a field or a name of one changes, as
# only one is read.
VERSION = 3

_AS_THEY_ARE = frozenset({bool, str, type(None)})  # types of values
_NUMBER = b"\0"  # stands for a number of the row, as no other byte of JSON is this one
_HOLE = msgspec.Raw(_NUMBER)


def save_json(value: Any) -> str:
    """Return an expression, a type, attributes, a module, or a tuple of them as JSON.

    Inferred types and spans are kept, and sharing is preserved.

    Raises:
        IRTypeError: It contains an object that is neither IR nor a plain value.
        SizeLimitError: Types or values in it are nested too deep.
    """
    writer = TableWriter(known_kinds(), ATOMS, _kind_record, _op_record)
    kept: list[Any] = []  # so that no id is given to another object

    def open_module(mod: IRModule) -> tuple[tuple[Any, ...], Any]:
        parts = module_parts(mod)
        kept.append(parts)
        return parts, []

    writer.add_class(IRModule, open_module, _module_record)
    table = writer.write(objects_in(value, ATOMS), _array_record)
    lines = _lines(table.records, table.stream)
    root = _template(_encoded(_form(value))) % tuple(table.roots)
    head, nodes = f'{{"parpass": {VERSION}, "nodes": [', ",\n".join(lines)
    return f'{head}\n{nodes}\n], "root": {root}}}\n'


def _lines(records: Sequence[bytes], stream: Sequence[int]) -> list[str]:
    """Return the rows as text."""
    templates = [(one.count(_NUMBER), _template(one)) for one in records]
    lines: list[str] = []
    at, end = 0, len(stream)
    while at < end:
        size, template = templates[stream[at]]
        first = at + 1
        at = first + size
        lines.append(template % tuple(stream[first:at]))
    return lines


def _template(record: bytes) -> str:
    return record.decode().replace("%", "%%").replace("\0", "%d")


def _kind_record(kind: Kind, item: Any) -> bytes:
    """Return the fields that are not left out, by name."""
    body: dict[str, Any] = {}
    for field in kind.fields.values():
        value = getattr(item, field.name)
        if value is None:
            if not field.omits_none:
                body[field.name] = None
        elif not (field.omits_empty and value == ()):
            is_own = field.form is Form.NUMBER and has_own_numbers(kind, item)
            body[field.name] = _HOLE if is_own else _field(field, value)
    return _encoded({kind.name: body})


def _field(field: Field, value: Any) -> Any:
    match field.form:
        case Form.PLAIN | Form.NUMBER:
            return _form(value)
        case Form.PAIRS:
            return [[_HOLE, _HOLE]] * len(value)
        case Form.REFERENCES:
            return [_HOLE] * len(value)
        case Form.TYPES if isinstance(value, tuple):
            return [_hole_for(one) for one in cast("tuple[Any, ...]", value)]
        case _:
            return _hole_for(value)


def _hole_for(item: Any) -> Any:
    if not isinstance(item, OBJECTS):
        raise IRTypeError(f"expected a part of a program, got {type(item).__name__}")
    return _HOLE


def _op_record(op: Op) -> bytes:
    return _encoded({"Op": op.name})


def _array_record(array: Any) -> bytes:
    return _encoded({"NDArray": array_as_json(array)})


def _module_record(mod: IRModule) -> bytes:
    types = len(mod.types.by_name)
    definitions = {"type_definitions": [_HOLE] * types} if types else {}
    others = {
        "functions": [[_HOLE, _HOLE]] * len(mod.functions_by_name),
        "attrs": _form(mod.attrs),
        "sources": mod.sources,
    }
    # The numbers are in the order of `module_parts`.
    return _encoded({"IRModule": {**definitions, **others}})


def _form(value: Any) -> Any:
    """Return a plain value in JSON: a tuple becomes a list, an object gets a tag."""
    if type(value) in _AS_THEY_ARE or isinstance(value, str):
        return value
    if isinstance(value, int) and int(value) in INTS:  # of its subclasses, plain values
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": float_word(value)}
    if isinstance(value, bytes):
        return {"bytes": binascii.b2a_base64(value, newline=False).decode("ascii")}
    if isinstance(value, OBJECTS):
        return {"ref": _HOLE}
    if isinstance(value, (tuple, list)):
        items = [_form(one) for one in cast("list[Any]", value)]
        return items if isinstance(value, tuple) else {"list": items}
    if isinstance(value, (dict, DictAttrs)):
        return _mapping_form(cast("Mapping[Any, Any]", value))
    raise IRTypeError(
        "expected plain values (numbers of 64 bits, strings, tuples, mappings) in "
        f"attributes, got {type(value).__name__}"
    )


def _mapping_form(mapping: Mapping[Any, Any]) -> Any:
    if not all(isinstance(key, str) for key in mapping):
        return {"pairs": [[_form(key), _form(one)] for key, one in mapping.items()]}
    tag = "DictAttrs" if isinstance(mapping, DictAttrs) else "dict"
    return {tag: {key: _form(one) for key, one in mapping.items()}}


def _encoded(form: Any) -> bytes:
    try:
        return msgspec.json.encode(form)
    except (TypeError, ValueError) as error:  # such as lone surrogates
        raise IRTypeError(f"a value cannot be saved: {error}") from None
