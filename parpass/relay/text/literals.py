"""Scalars and attribute values as text."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from parpass.relay.text.names import name_text
from parpass.relay.ty import Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parpass.relay.ndarray import NDArray

_SUFFIXES = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 64)},
    "int32": "",
    "float32": "f",
}


def scalar_text(data: NDArray) -> str | None:
    """Return a scalar such as `2`, `2i64`, `1f`, `1.5f16` or `True`.

    Returns:
        None for what has no such spelling: tensors, and numbers that are not finite.
    """
    if data.shape:
        return None
    value = data.numpy()[()]
    if data.dtype == "bool":
        return str(bool(value))
    if data.dtype not in _SUFFIXES or not math.isfinite(value):
        return None
    # numpy writes the shortest digits that give the same number in the same dtype
    digits = str(value).removesuffix(".0")
    return f"{digits}{_SUFFIXES[data.dtype]}"


def value_text(value: Any) -> str:
    """Return the value of an attribute; a sequence in brackets, a float ends in `f`."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float):
        return f"{float.__repr__(value)}f"
    if isinstance(value, tuple | list):
        items = map(value_text, cast("Sequence[Any]", value))
        return f"[{', '.join(items)}]"
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return (
            f"{{{', '.join(f'{value_text(k)}: {value_text(v)}' for k, v in entries)}}}"
        )
    if isinstance(value, Type):
        return str(value)
    return repr(value)


def items_text(items: Mapping[str, Any] | None) -> list[str]:
    """Return `key=value` for each attribute of a function or a module."""
    return [f"{name_text(k)}={value_text(v)}" for k, v in (items or {}).items()]


def attrs_text(attrs: msgspec.Struct | Mapping[str, Any] | None) -> list[str]:
    """Return `key=value` for each attribute of a call that is not its default."""
    if not isinstance(attrs, msgspec.Struct):
        return items_text(attrs)
    usual = _default_texts(type(attrs))
    values = ((name, value_text(getattr(attrs, name))) for name in usual)
    return [f"{name}={text}" for name, text in values if text != usual[name]]


@functools.cache
def _default_texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    fields = msgspec.structs.fields(kind)
    return {field.name: value_text(field.default) for field in fields}
