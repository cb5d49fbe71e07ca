"""The parts of a class of the program, of which its identity is the digest."""

from __future__ import annotations

import abc
import enum
import sys
import typing
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from parpass.runner.cache.code_references import UnknownIdentityError
from parpass.runner.ipc.module_sync import is_user_module

# Attributes of classes that say nothing of what the class does, or that others repeat.
_BOOKKEEPING = frozenset(
    {
        "__annotations__",
        "__annotations_cache__",
        "__annotate_func__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__msgspec_cache__",
        "__orig_bases__",
        "__parameters__",
        "__slotnames__",
        "__static_attributes__",
        "__struct_config__",
        "__weakref__",
        "_INHERITED_METADATA_DEPENDENCIES_CACHE",  # LibCST's, from the first run on
        "_abc_impl",
    }
)
# Those whose classes have all that they are as attributes.
_METACLASSES = (abc.ABCMeta, enum.EnumMeta, type(typing.Protocol))


def attributes_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a class that say what it does, by name."""
    for name, value in sorted(vars(kind).items()):
        if name not in _BOOKKEEPING:
            yield name, value


def parts_beside_attributes(kind: type) -> Iterator[Any]:
    """Yield what a class consists of besides its attributes: metaclass and bases.

    Raises:
        UnknownIdentityError: There is more to it, which cannot be seen.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    if file.endswith((".so", ".pyd")):
        raise UnknownIdentityError(
            f"class '{kind.__qualname__}' is of an extension module without a version"
        )
    metaclass = type(kind)
    if metaclass is not type:
        yield metaclass
    if issubclass(kind, msgspec.Struct):
        yield from _parts_of_struct(kind)
    elif not (
        metaclass is type
        or is_user_module(metaclass.__module__)
        or metaclass in _METACLASSES
    ):
        name = f"{metaclass.__module__}.{metaclass.__qualname__}"
        raise UnknownIdentityError(
            f"class '{kind.__qualname__}' is made by {name}, which may keep more of it "
            "than its attributes"
        )
    yield from kind.__bases__


def _parts_of_struct(kind: type[msgspec.Struct]) -> Iterator[Any]:
    yield kind.__struct_fields__
    for default in cast("Any", kind).__struct_defaults__:
        yield getattr(default, "factory", default)
    config = kind.__struct_config__
    names = [name for name in dir(config) if not name.startswith("_")]
    yield [getattr(config, name) for name in names]
