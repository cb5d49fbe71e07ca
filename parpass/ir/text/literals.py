"""Scalars and attribute values as text, and back."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from parpass.ir.text.names import name_text
from parpass.ir.types.ty import Type
from parpass.ir.types.type_text import type_text
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUFFIXES = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 64)},
    "int32": "",
    "float32": "f",
}
_DTYPES = {
    **{suffix: dtype for dtype, suffix in _SUFFIXES.items()},
    "f32": "float32",
    "i32": "int32",
}
# Words that an argument cannot begin with unless they mean what they always mean.
_KEYWORDS = {"def", "else", "fn", "free_var", "if", "let", "True", "False"}
_MOST_DIGITS = 1000  # Python converts strings of some thousand digits at most
_NUMBER = re.compile(r"(-?[0-9]+)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)([fiu][0-9]*)?")


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


def read_number_of(text: str) -> tuple[int | float, str]:
    """Return the number of which this is the text, and its dtype.

    Without a suffix it is an int32, one that is too large for that an int64, or a
    float32 if it has a point or exponent.

    Raises:
        ValueError: It is no number.
    """
    value, suffix = _number(text)
    if not suffix and isinstance(value, int) and not -(2**31) <= value < 2**31:
        return value, "int64"
    return value, _DTYPES[suffix or ("f" if isinstance(value, float) else "")]


def read_scalar(text: str) -> NDArray:
    """Return the scalar of which this is the text.

    Without a suffix a number is an int32, one that is too large for that an int64, or
    a float32 if it has a point or exponent.

    Raises:
        ValueError: The number does not fit its dtype.
    """
    if text in {"True", "False"}:
        return NDArray(np.array(text == "True"))
    value, dtype = read_number_of(text)
    if isinstance(value, int):
        limits = np.iinfo(dtype)
        fits = limits.min <= value <= limits.max
        return _scalar(value if fits else None, text, dtype)
    with np.errstate(over="ignore"):
        number = np.array(value, dtype)
    return _scalar(number if np.isfinite(number) else None, text, dtype)


def _scalar(value: Any, text: str, dtype: str) -> NDArray:
    if value is None:
        raise ValueError(f"'{text[:40]}' is out of range of {dtype}")
    return NDArray(np.array(value, dtype))


def read_number(text: str) -> int | float:
    """Return the number in an attribute of which this is the text.

    Raises:
        ValueError: It is no int of 64 bits.
    """
    if text.endswith(("inff", "nanf")):
        return float(text[:-1])
    value, _ = _number(text)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"'{text[:40]}' is no int of 64 bits")
    return value


def _number(text: str) -> tuple[int | float, str]:
    """Return the value and the suffix of the text of a number."""
    found = _NUMBER.fullmatch(text)
    if found is None or (found[3] or "f") not in _DTYPES:
        raise ValueError(f"'{text[:40]}' is no number")
    whole, rest, suffix = found.group(1, 2, 3)
    suffix = suffix or ""
    if suffix[:1] in {"i", "u"} and rest:
        raise ValueError(f"'{text[:40]}' is no int, but its suffix is that of one")
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too long")
    if suffix[:1] == "f" or rest:
        return float(whole + rest), suffix
    return int(whole), suffix


def value_text(value: Any, of_type: Callable[[Type], str] = type_text) -> str:
    """Return the value of an attribute; a sequence in brackets, a float ends in `f`.

    Args:
        value: The value.
        of_type: Gives the text of a type in it.
    """
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float):
        return f"{float.__repr__(value)}f"
    if isinstance(value, tuple | list):
        items = cast("Sequence[Any]", value)
        return f"[{', '.join(value_text(item, of_type) for item in items)}]"
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        pairs = (
            f"{value_text(k, of_type)}: {value_text(v, of_type)}" for k, v in entries
        )
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Type):
        return of_type(value)
    return repr(value)


def items_text(items: Mapping[str, Any] | None) -> list[str]:
    """Return `key=value` for each attribute of a function or a module."""
    return [f"{_key_text(k)}={value_text(v)}" for k, v in (items or {}).items()]


def _key_text(name: str) -> str:
    return json.dumps(name) if name in _KEYWORDS else name_text(name)


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
