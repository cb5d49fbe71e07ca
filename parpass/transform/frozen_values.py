"""Detection of values that cannot be changed, by a walk over the value itself.

Annotations lie, and a frozen dataclass may hold a list. So the walk goes over what a
value refers to, down to its atoms. How the parts of a value are read is found once for
each class; a class of which it is not known that its instances cannot change has
instances that can.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import gc
import operator
import struct
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from types import EllipsisType, MemberDescriptorType, NoneType, NotImplementedType
from typing import Any

# What returns all parts of instances of one class.
_Parts = Callable[[Iterable[Any]], Iterable[Any]]

_ATOMS: tuple[type, ...] = (
    *(NoneType, bool, int, float, complex, str, bytes, range),
    *(EllipsisType, NotImplementedType, decimal.Decimal, datetime.timezone),
    *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta),
)
# What a class may inherit from beside classes of Python: their instances cannot change.
_BASES = frozenset({object, tuple, frozenset, *_ATOMS})
_POINTER = struct.calcsize("P")
_IS_HEAP_TYPE = 1 << 9  # of `type.__flags__`: `copyreg` looks at it for the same reason


_class_of: Callable[[Any], type[Any]] = type


def _no_parts(_values: Iterable[Any]) -> Iterable[Any]:
    return ()


_MOST_CLASSES = 4096  # known at a time: programs make classes, too


def is_frozen(value: Any) -> bool:
    """Return whether neither a value nor anything that it refers to can be changed.

    Frozen are: atoms such as numbers and strings, enum members, classes; tuples, frozen
    sets and named tuples of what is frozen; instances of frozen dataclasses and frozen
    `msgspec` structs whose fields are; arrays of numpy that cannot be written to.
    """
    layer: list[Any] = [value]
    seen = set[int]()
    while layer:
        # By class, so that no step is made for a single value.
        kinds = set(map(_class_of, layer))
        parts: list[Any] = []
        for kind in kinds:
            read = _parts_of(kind)
            if read is _no_parts:
                continue
            those = layer if len(kinds) == 1 else [x for x in layer if type(x) is kind]
            if read is None:
                if not all(map(_is_frozen_leaf, those)):
                    return False
                continue
            new = dict(zip(map(id, those), those, strict=True))
            for number in seen.intersection(new):
                del new[number]
            seen.update(new)
            parts.extend(read(new.values()))
        layer = parts
    return True


@functools.lru_cache(_MOST_CLASSES)
def _parts_of(kind: type[Any]) -> _Parts | None:
    """Return what gives the parts of instances of a class; None if they can change."""
    if issubclass(kind, type | enum.Enum) or kind in _ATOMS:
        return _no_parts
    if kind is tuple or kind is frozenset:
        return chain.from_iterable
    first = next(one for one in kind.__mro__ if not one.__flags__ & _IS_HEAP_TYPE)
    config = getattr(kind, "__struct_config__", None)
    if config is not None:  # of msgspec
        return _attributes(kind) if getattr(config, "frozen", False) is True else None
    if first not in _BASES or _has_native_state(kind, first):
        return None
    is_filled = first in (tuple, frozenset)
    readers: list[_Parts] = [chain.from_iterable] if is_filled else []
    params = vars(kind).get("__dataclass_params__")
    has_attributes = kind.__dictoffset__ != 0 or bool(_slots(kind))
    if has_attributes:
        if not getattr(params, "frozen", False):
            return None
        readers.append(_attributes(kind))
    if not readers:  # as of a class of constants, which has no state
        return _no_parts
    return readers[0] if len(readers) == 1 else _joined(readers)


def _has_native_state(kind: type[Any], first: type[Any]) -> bool:
    """Return whether instances have more than slots, attributes and weak references.

    An extension module may define such a class, as `array.array` is one.
    """
    # Python may keep attributes and weak references before an instance, not in it.
    # Behind items, whose number varies, attributes are the last.
    kept = kind.__dictoffset__, kind.__weakrefoffset__
    within = [at for at in kept if at >= first.__basicsize__ or at == -_POINTER]
    pointers = len(_slots(kind)) + len(within)
    return kind.__basicsize__ > first.__basicsize__ + pointers * _POINTER


def _slots(kind: type[Any]) -> list[str]:
    return [
        name
        for one in kind.__mro__
        for name, member in vars(one).items()
        if isinstance(member, MemberDescriptorType)
    ]


def _attributes(kind: type[Any]) -> _Parts:
    """Return what gives all attributes of an instance, fields or not."""
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    names = list(dict.fromkeys([*fields, *_slots(kind)]))
    readers: list[_Parts] = [_named(names)] if names else []
    if kind.__dictoffset__ != 0:
        readers.append(_attribute_values)
    return readers[0] if len(readers) == 1 else _joined(readers)


def _named(names: list[str]) -> _Parts:
    """Return what gives the attributes of these names, as far as they are set."""
    read = operator.attrgetter(*names)
    is_single = len(names) == 1

    def parts(those: Iterable[Any]) -> Iterable[Any]:
        try:
            found = list(map(read, those))
        except AttributeError:
            return [
                getattr(one, name)
                for one in those
                for name in names
                if hasattr(one, name)
            ]
        return found if is_single else chain.from_iterable(found)

    return parts


def _attribute_values(those: Iterable[Any]) -> Iterable[Any]:
    """Return the attributes that instances of a Python class have, beside slots.

    An instance has its values without a dict until its `__dict__` is read, and making
    one takes longer than all else here. So the collector is asked what it refers to. A
    dict is what holds its values, or is one of them.
    """
    found = gc.get_referents(*those)
    if dict not in map(type, found):
        return found
    return [value for one in those for value in one.__dict__.values()]


def _joined(readers: list[_Parts]) -> _Parts:
    def parts(those: Iterable[Any]) -> Iterable[Any]:
        return [part for read in readers for part in read(those)]

    return parts


def _is_frozen_leaf(value: Any) -> bool:
    """Return whether a value of a class that has both kinds of instances is frozen."""
    numpy = sys.modules.get("numpy")  # who has an array has imported it
    if numpy is None:
        return False
    if isinstance(value, numpy.generic):
        return not isinstance(value, numpy.void)
    if isinstance(value, numpy.dtype):
        return True
    array: Any = value
    if type(array) is not numpy.ndarray or array.dtype.hasobject:
        return False
    while type(array) is numpy.ndarray:
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)
