"""Records of a table in MessagePack, for a store on disk.

Tuples are its arrays. Where it has no kind of value, there is an extension: a list, a
mapping, and a hole, where an object of the table is put in. Types of tensors,
operators and unknown dimensions stand in records themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec.msgpack import Ext

from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.arrays import array_of_parts, array_parts
from parpass.ir.serialization.records import Maker, constant, has_own_numbers
from parpass.ir.serialization.schema import Field, Form, Kind
from parpass.ir.serialization.table_reader import TableReader
from parpass.ir.serialization.value_forms import (
    ATOMS,
    HOLE,
    OBJECTS,
    Holes,
    Made,
    mapping_of,
    type_of,
    value_of,
)
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.runtime.ndarray import NDArray
from parpass.transform import BlobSink

_OP, _ARRAY, _ARRAY_OUTSIDE = "Op", "NDArray", "outside"  # records of no kind

_HOLE_CODE, _LIST, _DICT, _ATTRS, _DIM, _OP_CODE, _TENSOR = range(1, 8)
_hole, _dim = Ext(_HOLE_CODE, b""), Ext(_DIM, b"")
_encode = msgspec.msgpack.Encoder().encode


def kind_record(kind: Kind, item: Any) -> bytes:
    """Return the record of an object of a kind."""
    forms: list[Any] = []
    for field in kind.fields.values():
        is_own = field.form is Form.NUMBER and has_own_numbers(kind, item)
        forms.append(_hole if is_own else _field(field, getattr(item, field.name)))
    return _encode([kind.name, _token_of(kind), forms])


def op_record(op: Op) -> bytes:
    """Return the record of an operator."""
    return _encode([_OP, op.name])


def array_record(array: NDArray, blob_sink: BlobSink) -> bytes:
    """Return the record of an array."""
    if not array.is_uniform and array.is_plain:
        index = blob_sink(array)
        if index is not None:
            return _encode([_ARRAY_OUTSIDE, index, array.shape, array.typestr])
    return _encode([_ARRAY, *array_parts(array)])


def read_record(record: bytes, kinds: Mapping[str, Kind], reader: TableReader) -> Maker:
    """Return what makes the objects of a record.

    Args:
        record: The record.
        kinds: The kinds by name.
        reader: Knows what makes the objects of a kind.

    Raises:
        Exception: It is no record.
    """
    match _decode(record):
        case [str(name), bytes(token), forms] if type(forms) is list:
            kind = kinds.get(name)
            if kind is None or kind.rival is not None or _token_of(kind) != token:
                raise ValueError(f"expected a kind that is known, got '{name:.80}'")
            fields = list(kind.fields.values())
            pairs = zip(fields, cast("list[Any]", forms), strict=True)
            return reader.maker(kind, fields, [_form(*pair) for pair in pairs])
        case ["Op", str(name)]:
            return constant(Op.get(name))
        case ["NDArray", str(dtype), shape, str(key), bytes(data)]:
            return constant(array_of_parts(dtype, shape, key, data))
        case _:
            raise ValueError("expected a record")


def _token_of(kind: Kind) -> bytes:
    """Return what tells a kind from others, that had the name in another program.

    That is the names of its fields: values are read in their order.
    """
    names = f"{kind.name} {' '.join(kind.fields)}"
    return hashlib.blake2b(names.encode(), digest_size=4).digest()


def _field(field: Field, value: Any) -> Any:
    """Return the value of a field for its record: a count, for lists of objects."""
    if field.form is Form.REFERENCES:
        return len(value)
    if field.form is Form.PAIRS:
        return 2 * len(value)
    return _written(value)


def _form(field: Field, read: Any) -> Any:
    """Return the form of a field that `_field` wrote."""
    if field.form not in (Form.REFERENCES, Form.PAIRS):
        return read
    if type(read) is not int or read < 0:
        raise ValueError(f"expected a count for {field.name}")
    return Holes(read)


def _written(value: Any) -> Any:
    """Return a plain value as MessagePack has it, with holes for objects.

    Raises:
        IRTypeError: It is none.
    """
    kind = type_of(value)
    if kind in ATOMS:
        return value
    if kind is TensorType:
        return Ext(_TENSOR, _encode([_written(value.shape), value.dtype]))
    if kind is Op:
        return Ext(_OP_CODE, value.name.encode())
    if isinstance(value, OBJECTS):
        return _dim if kind is UnknownDim else _hole
    if isinstance(value, tuple):
        return [_written(one) for one in cast("tuple[Any, ...]", value)]
    if isinstance(value, list):
        items = [_written(one) for one in cast("list[Any]", value)]
        return Ext(_LIST, _encode(items))
    if isinstance(value, dict | DictAttrs):
        pairs = cast("Mapping[Any, Any]", value).items()
        items = [_written(one) for pair in pairs for one in pair]
        return Ext(_DICT if isinstance(value, dict) else _ATTRS, _encode(items))
    for plain in (str, int, float):  # of whose subclasses the value is written
        if isinstance(value, plain):
            return plain(value)
    raise IRTypeError(f"expected plain values in attributes, got {kind.__name__}")


def _read_extension(code: int, data: memoryview) -> Any:
    if code == _HOLE_CODE:
        return HOLE
    if code == _DIM:
        return _ANY
    if code == _OP_CODE:
        return Op.get(str(data, "utf-8"))
    inner = _decode(data)
    if code == _TENSOR:
        shape, dtype = inner
        return TensorType(value_of(shape, iter(()).__next__), dtype)
    if code not in _MADE:
        raise ValueError(f"expected a value, got extension {code}")
    if not isinstance(inner, list):
        raise ValueError("expected a list of values")
    return Made(_MADE[code], cast("list[Any]", inner))


_MADE: dict[int, Callable[[list[Any]], Any]] = {
    _LIST: list,
    _DICT: mapping_of,
    _ATTRS: lambda values: DictAttrs(mapping_of(values)),
}
_ANY = UnknownDim()
_decode = msgspec.msgpack.Decoder(ext_hook=_read_extension).decode
