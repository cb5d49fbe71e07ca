"""A walk over what an object refers to, with the attribute that leads to each part."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from parpass.transform.frozen_values import is_frozen

# Code, which is referred to by its name.
OPAQUE = (
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(types.MethodType, types.CodeType),
)


class Part(NamedTuple):
    """An object, and the way to it from a root.

    Attributes:
        path: The way, such as `.ops[0].parent`.
        holder: The attribute on that way that is nearest, such as `Op.parent`.
    """

    value: Any
    path: str
    holder: str


def parts_of(owner: Part) -> Iterator[Part]:
    """Yield what an object refers to: attributes, slots, items."""
    value, path, holder = owner
    if isinstance(value, Mapping):
        for key, item in list(cast("Mapping[Any, Any]", value).items()):
            yield Part(key, f"{path}<key>", holder)
            yield Part(item, f"{path}[{key!r:.40}]", holder)
    elif isinstance(value, list | tuple | set | frozenset):
        for at, item in enumerate(list(cast("Sequence[Any]", value))):
            yield Part(item, f"{path}[{at}]", holder)
    elif isinstance(value, OPAQUE):
        return
    kind = type(owner.value).__name__
    for name, item in attributes_of(owner.value).items():
        yield Part(item, f"{path}.{name}", f"{kind}.{name}")


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes that an object has of its own, slots included."""
    fields = getattr(value, "__struct_fields__", ())
    found: dict[str, Any] = {name: getattr(value, name) for name in fields}
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    found[name] = member.__get__(value)
                except AttributeError:  # it has not been set
                    continue
    found.update(getattr(value, "__dict__", {}))
    return found


def walk(
    root: Any, limit: int, goes_into: Callable[[Any], bool] = lambda _: True
) -> Iterator[Part]:
    """Yield what an object refers to and can be changed, each once, nearest first.

    It goes on from parts that it `goes_into`, until about `limit` parts are waiting.
    """
    kind = type(root).__name__
    waiting, seen = [Part(root, "", kind)], {id(root)}
    at = 0
    while at < len(waiting) < limit:
        owner = waiting[at]
        at += 1
        for part in parts_of(owner):
            if id(part.value) in seen or is_frozen(part.value):
                continue
            seen.add(id(part.value))
            yield part
            if goes_into(part.value):
                waiting.append(part)
