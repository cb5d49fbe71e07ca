"""Codec of attributes and of classes: equal bytes for equal attributes, only for them.

A class is its module and qualified name if that imports back to the same object. Those
of unregistered operations and attributes are made anew from the name that they stand
for, once a process; any other one, such as a class of a script, is pickled by value.

The bytes of an attribute are those of the tree of its classes and fields, written by
`marshal` version 2, which keeps no references. So they do not depend on what is shared
in memory. Nothing is looked up by `==`: attributes compare equal that differ, such as
0.0 and -0.0, or dictionaries in another order. They are remembered by identity, and
found again by their bytes.
"""

from __future__ import annotations

import enum
import functools
import marshal
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import SymbolRefAttr, UnregisteredAttr, UnregisteredOp

from parpass.spi import dumps, importable

# What `marshal` writes: "module:qualname", a pickle, or what makes an unregistered one.
Name = str | bytes | tuple[str, str]

# The pickles of classes, which are names only if they stay the same.
_pickled: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()

_OP, _ATTRIBUTE, _TYPE = "op", "attribute", "type"


def name_of(kind: type[Any]) -> str | bytes:
    """Return the name of a class that is registered, or a program's own."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    module = sys.modules.get(kind.__module__)
    if "<" not in kind.__qualname__ and importable(kind.__module__) is not None:
        try:
            if attrgetter(kind.__qualname__)(module) is kind:
                return name
        except AttributeError:
            pass
    if kind not in _pickled:
        _pickled[kind] = dumps(kind)
    return _pickled[kind]


def name_of_op(op: Any) -> Name:
    """Return the name of the class of an operation."""
    if isinstance(op, UnregisteredOp):
        return _OP, op.op_name.data
    return name_of(cast("type[Any]", type(op)))


def name_of_value(value: Any) -> Name:
    """Return the name of the class of an attribute, or of what is in one."""
    if isinstance(value, UnregisteredAttr):
        return _TYPE if value.is_type.data else _ATTRIBUTE, value.attr_name.data
    return name_of(cast("type[Any]", type(value)))


def named(name: Name) -> type[Any]:
    """Return the class of a name."""
    if isinstance(name, str):
        module, _, qualname = name.partition(":")
        loaded = sys.modules.get(module) or import_module(module)
        return attrgetter(qualname)(loaded)
    if isinstance(name, bytes):
        kind = pickle.loads(name)  # written by a process of ours
        _pickled.setdefault(kind, name)
        return kind
    return _unregistered(*name)


@functools.lru_cache(4096)
def _unregistered(kind: str, of: str) -> type[Any]:
    if kind == _OP:
        return UnregisteredOp.with_name(of)
    return UnregisteredAttr.with_name_and_type(of, kind == _TYPE)


VERSION = 2  # of marshal

_MOST = 50_000  # attributes that are remembered
_LARGEST = 4_096  # bytes, of one that is remembered

# What a tuple in a tree begins with.
_OBJECT, _TUPLE, _LIST, _MAPPING, _SET, _ENUM, _CLASS, _PICKLE = range(8)
_PLAIN = frozenset((type(None), bool, int, float, str, bytes))


class EncodedAttribute(NamedTuple):
    """An attribute as bytes.

    Attributes:
        content: The bytes.
        symbols: The names that are at the roots of the symbols in it, sorted.
    """

    content: bytes
    symbols: tuple[str, ...]


_known: dict[int, tuple[Any, EncodedAttribute]] = {}
_made: dict[bytes, Any] = {}


def encoded(attribute: Any) -> EncodedAttribute:
    """Return an attribute as bytes."""
    known = _known.get(id(attribute))
    if known is not None and known[0] is attribute:
        return known[1]
    symbols: set[str] = set()
    content = marshal.dumps(_tree(attribute, symbols), VERSION)
    made = EncodedAttribute(content, tuple(sorted(symbols)))
    if len(content) <= _LARGEST:
        if len(_known) >= _MOST:
            _known.clear()
        _known[id(attribute)] = attribute, made
    return made


def decoded(content: bytes) -> Any:
    """Return the attribute; small ones with the same bytes are one object."""
    known = _made.get(content)
    if known is not None:
        return known
    attribute = _value(marshal.loads(content))
    if len(content) <= _LARGEST:
        if len(_made) >= _MOST:
            _made.clear()
        _made[content] = attribute
    return attribute


def _tree(value: Any, symbols: set[str]) -> Any:
    kind = cast("type[Any]", type(value))
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return _TUPLE, *[_tree(one, symbols) for one in value]
    if kind is list:
        return _LIST, *[_tree(one, symbols) for one in value]
    if isinstance(value, enum.Enum):
        return _ENUM, name_of(kind), value.name
    if isinstance(value, type):
        return _CLASS, name_of(cast("type[Any]", value))
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), symbols)
    if kind is frozenset:
        trees = [_tree(one, symbols) for one in cast("frozenset[Any]", value)]
        return _SET, *sorted(marshal.dumps(one, VERSION) for one in trees)
    if is_dataclass(kind) and hasattr(value, "__dict__"):
        if isinstance(value, SymbolRefAttr):
            symbols.add(value.root_reference.data)
        fields = cast("Mapping[str, Any]", vars(value))
        values = [_tree(one, symbols) for one in fields.values()]
        return _OBJECT, name_of_value(value), tuple(fields), *values
    return _PICKLE, pickle.dumps(value, protocol=5)


def _mapping(value: Mapping[Any, Any], symbols: set[str]) -> Any:
    items = [(_tree(k, symbols), _tree(one, symbols)) for k, one in value.items()]
    return _MAPPING, name_of(cast("type[Any]", type(value))), *items


def _value(tree: Any) -> Any:
    if type(tree) is not tuple:
        return tree
    read = _READERS[cast("tuple[int, ...]", tree)[0]]
    return read(tree)


def _object(tree: Any) -> Any:
    kind = named(tree[1])
    made: Any = object.__new__(kind)
    # As it was made once, and checked: by its fields, which may be frozen.
    cast("dict[str, Any]", vars(made)).update(
        zip(tree[2], map(_value, tree[3:]), strict=True)
    )
    return made


_READERS: tuple[Callable[[Any], Any], ...] = (
    _object,
    lambda tree: tuple(map(_value, tree[1:])),
    lambda tree: list(map(_value, tree[1:])),
    lambda tree: named(tree[1])({_value(k): _value(one) for k, one in tree[2:]}),
    lambda tree: frozenset(_value(marshal.loads(one)) for one in tree[1:]),
    lambda tree: cast("Any", named(tree[1]))[tree[2]],
    lambda tree: named(tree[1]),
    lambda tree: pickle.loads(tree[1]),  # written by a process of ours
)
