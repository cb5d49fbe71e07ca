"""Plain values of nodes, types and attributes in MessagePack.

Tuples are its arrays. Where it has no kind of value, there is an extension: a list, a
mapping, an array of numbers, and a hole, where an object of the table is put in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.msgpack import Ext

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.attrs import DictAttrs
from parpass.ir.op_table import Op
from parpass.ir.type_structure import MAX_NESTING
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.runtime.ndarray import NDArray

ATOMS = frozenset({str, int, float, bool, bytes, type(None)})

# Objects that are written where they stand, as values are.
LEAVES = ATOMS | {Op, TensorType, UnknownDim}

_HOLE, _LIST, _DICT, _ATTRS, _DIM, _OP, _TENSOR = range(1, 8)
_OBJECTS = msgspec.Struct, NDArray

_TOLD_BY_EQUALITY = frozenset({str, int, type(None), Op, TensorType, UnknownDim})

type_of: Callable[[Any], type[Any]] = type  # whose own type is partly unknown
encode_msgpack = msgspec.msgpack.Encoder().encode


class Hole:
    """Stands for an object of the table in a value that was read."""


HOLE = Hole()
_hole, _dim = Ext(_HOLE, b""), Ext(_DIM, b"")


def objects_in(value: Any, nesting: int = 0) -> Sequence[Any]:
    """Return the objects in a plain value, in the order of its holes."""
    kind = type_of(value)
    if kind in LEAVES or (kind is tuple and LEAVES.issuperset(map(type, value))):
        return ()
    if isinstance(value, _OBJECTS):
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
    return [one for item in items for one in objects_in(item, nesting + 1)]


def key_of(value: Any) -> Any:
    """Return a value that equals only that of a plain value of the same bytes.

    It cannot be hashed if there is none.
    """
    kind = type_of(value)
    if kind in _TOLD_BY_EQUALITY:
        return value
    if kind is float:
        return float, value.hex()
    if kind is bool or kind is bytes:
        return kind, value
    if kind is tuple:
        if _TOLD_BY_EQUALITY.issuperset(map(type, value)):
            return value
        return (tuple, *map(key_of, value))
    return HOLE if isinstance(value, _OBJECTS) else []


def form_of(value: Any) -> Any:
    """Return a plain value as MessagePack has it, with holes for objects.

    Raises:
        IRTypeError: It is none.
    """
    kind = type_of(value)
    if kind in ATOMS:
        return value
    if kind is TensorType:
        form = [form_of(value.shape), value.dtype]
        return Ext(_TENSOR, encode_msgpack(form))
    if kind is Op:
        return Ext(_OP, value.name.encode())
    if isinstance(value, _OBJECTS):
        return _dim if kind is UnknownDim else _hole
    if isinstance(value, tuple):
        return [form_of(one) for one in cast("tuple[Any, ...]", value)]
    if isinstance(value, list):
        forms = [form_of(one) for one in cast("list[Any]", value)]
        return Ext(_LIST, encode_msgpack(forms))
    if isinstance(value, dict | DictAttrs):
        pairs = cast("Mapping[Any, Any]", value).items()
        forms = [form_of(one) for pair in pairs for one in pair]
        return Ext(_DICT if isinstance(value, dict) else _ATTRS, encode_msgpack(forms))
    for plain in (str, int, float):  # of whose subclasses the value is written
        if isinstance(value, plain):
            return plain(value)
    raise IRTypeError(f"expected plain values in attributes, got {kind.__name__}")


def decode_form(encoded: bytes) -> Any:
    """Return what `form_of` gave, with `HOLE` in each hole."""
    return _decode(encoded)


def value_of(form: Any, next_object: Callable[[], Any], nesting: int = 0) -> Any:
    """Return the plain value of a form.

    Args:
        form: As it was decoded.
        next_object: Returns the object for the next hole.
        nesting: How deep it stands.

    Raises:
        ValueError: It is none.
    """
    if type(form) in LEAVES:
        return form
    if form is HOLE:
        return next_object()
    if nesting > MAX_NESTING:
        raise ValueError("nested too deep")
    if isinstance(form, list):
        items = cast("list[Any]", form)
        return tuple([value_of(one, next_object, nesting + 1) for one in items])
    if not isinstance(form, tuple):
        raise ValueError("expected a value")
    code, inner = cast("tuple[int, list[Any]]", form)
    values = [value_of(one, next_object, nesting + 1) for one in inner]
    if code == _LIST:
        return values
    if len(values) % 2:
        raise ValueError("expected pairs of keys and values")
    found = dict(zip(values[::2], values[1::2], strict=True))
    if len(found) < len(values) // 2:
        raise ValueError("expected keys that differ")
    return DictAttrs(found) if code == _ATTRS else found


def holes_in(form: Any) -> Iterator[Hole]:
    """Yield the holes of a form."""
    if form is HOLE:
        yield form
    elif isinstance(form, list | tuple):
        for one in cast("Sequence[Any]", form):
            yield from holes_in(one)


def _read_extension(code: int, data: memoryview) -> Any:
    if code == _HOLE:
        return HOLE
    if code == _DIM:
        return _ANY
    if code == _OP:
        return Op.get(str(data, "utf-8"))
    inner = _decode(data)
    if code == _TENSOR:
        shape, dtype = inner
        return TensorType(value_of(shape, iter(()).__next__), dtype)
    if code not in (_LIST, _DICT, _ATTRS):
        raise ValueError(f"expected a value, got extension {code}")
    if not isinstance(inner, list):
        raise ValueError("expected a list of values")
    return code, inner


_ANY = UnknownDim()
_decode = msgspec.msgpack.Decoder(ext_hook=_read_extension).decode
