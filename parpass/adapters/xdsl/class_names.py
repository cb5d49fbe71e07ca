"""Classes of operations and attributes, as something that another process finds again.

A class is its module and qualified name if that imports back to the same object. Those
of unregistered operations and attributes are made anew from the name that they stand
for, once a process; any other one, such as a class of a script, is pickled by value.
"""

from __future__ import annotations

import functools
import pickle
import sys
from importlib import import_module
from operator import attrgetter
from typing import Any, cast
from weakref import WeakKeyDictionary

import cloudpickle
from xdsl.dialects.builtin import UnregisteredAttr, UnregisteredOp

from parpass.tables import importable

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
        _pickled[kind] = cloudpickle.dumps(kind)
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
