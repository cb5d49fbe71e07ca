"""Literals of the text formats, written and read: floats, names, scalars, attributes.

Floats that are not finite are words that keep all bits: `inf`, `-nan`, `nan(5)`. A NaN
has 52 bits beside its sign; the number in parentheses has them, unless only the first
one is set, as in most NaNs. Names are quoted where necessary, and made unique.
"""

from __future__ import annotations

import functools
import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from parpass.diagnostic import Span
from parpass.ir.attrs import DictAttrs
from parpass.ir.text.error_list import ErrorList
from parpass.ir.types import Type
from parpass.ir.types.type_structure import type_text
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence


WORDS = {"inf", "nan"}
_WORD = re.compile(r"(-?)(inf|nan)(?:\((.*)\))?")
_MANTISSA = (1 << 52) - 1
_USUAL = 1 << 51
_EXPONENT = 0x7FF << 52


def float_word(value: float) -> str:
    """Return the word for a float that is not finite."""
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}inf"
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    carried = bits & _MANTISSA
    return f"{sign}nan" if carried == _USUAL else f"{sign}nan({carried})"


def float_of_word(word: str) -> float:
    """Return the float that a word stands for.

    Raises:
        ValueError: It is no such word, or no NaN has that number.
    """
    found = _WORD.fullmatch(word)
    if found is None or (found[2] == "inf" and found[3] is not None):
        raise ValueError(f"expected 'inf' or 'nan', got '{word[:40]}'")
    sign, name, digits = found.groups()
    if name == "inf":
        return float(sign + name)
    carried = _USUAL if digits is None else _carried(digits)
    bits = bool(sign) << 63 | _EXPONENT | carried
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def _carried(digits: str) -> int:
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 16
    if not is_number or not 0 < int(digits) <= _MANTISSA:
        raise ValueError(
            f"expected an int from 1 to {_MANTISSA} in a NaN, got '{digits[:40]}'"
        )
    return int(digits)


def name_text(name: str) -> str:
    """Return a name, quoted unless it consists of letters, digits and `_`."""
    is_plain = name.isascii() and name.isidentifier()
    return name if is_plain else json.dumps(name)


def read_name(text: str) -> str:
    """Return the name written by `name_text`, without its sigil.

    Raises:
        ValueError: The quoted part is no JSON string.
    """
    if not text.startswith('"'):
        return str(text)  # not a token, which is a kind of string
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON string: {error.msg}") from None


def relay_name(name: str) -> str:
    """Return the name of a Relay variable: `%x`, `%"a b"`."""
    return f"%{name_text(name)}"


class VarNames:
    """Assigns unique names to variables: `x`, `x_1`, ... by first appearance.

    Args:
        as_text: Returns a name's spelling.
    """

    def __init__(self, as_text: Callable[[str], str] = relay_name) -> None:
        self._as_text = as_text
        self._names: dict[Any, str] = {}
        self._suffixes: dict[str, int] = {}

    def text_of(self, var: Any, hint: str) -> str:
        """Return the name of a variable.

        Args:
            var: The variable.
            hint: Its preferred name, used if no other variable has it.
        """
        if var not in self._names:
            self._names[var] = self._as_text(self._unique(hint))
        return self._names[var]

    def _unique(self, hint: str) -> str:
        name, suffixes = hint, self._suffixes
        while name in suffixes:
            suffixes[hint] += 1
            name = f"{hint}_{suffixes[hint]}"
        suffixes[name] = 0
        return name


class Attribute(msgspec.Struct, frozen=True):
    """`name=value` in a text; `place` is that of the name."""

    name: str
    value: Any
    place: Span


def by_name(attributes: Sequence[Attribute], problems: ErrorList) -> dict[str, Any]:
    """Return attributes as a mapping; report duplicates."""
    values: dict[str, Any] = {}
    for attribute in attributes:
        if attribute.name in values:
            problems.report(
                attribute.place, f"attribute '{attribute.name}' is given twice"
            )
        values[attribute.name] = attribute.value
    return values


def dict_attrs(
    attributes: Sequence[Attribute], problems: ErrorList
) -> DictAttrs | None:
    """Return attributes of any names as a mapping, None if there are none."""
    values = by_name(attributes, problems)
    return DictAttrs(values) if values else None


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
# Reserved words: an argument cannot begin with one in another meaning.
_KEYWORDS = {"def", "else", "fn", "free_var", "if", "let", "True", "False"}
_MOST_DIGITS = 1000  # Python converts strings of some thousand digits at most
_NUMBER = re.compile(r"(-?[0-9]+)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)([fiu][0-9]*)?")


def scalar_text(data: NDArray) -> str | None:
    """Return a scalar such as `2`, `2i64`, `1f`, `1.5f16` or `True`.

    Returns:
        None for values without such a spelling: tensors, and numbers that are not
            finite.
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
    """Return the value and the dtype of a number's text.

    Without a suffix it is an int32, an int64 if it is too large for that, or a float32
    if it has a point or exponent.

    Raises:
        ValueError: It is no number.
    """
    value, suffix = _number(text)
    if not suffix and isinstance(value, int) and not -(2**31) <= value < 2**31:
        return value, "int64"
    return value, _DTYPES[suffix or ("f" if isinstance(value, float) else "")]


def read_float_of(text: str) -> float:
    """Return the value of a float's text: infinity if it is too large.

    Without a point or exponent it is a float as well, so that `-0` has its sign.

    Raises:
        ValueError: It is no number.
    """
    _number(text)
    return float(_NUMBER.sub(r"\1\2", text))


def read_scalar(text: str) -> NDArray:
    """Return the value of a scalar's text.

    Without a suffix a number is an int32, an int64 if it is too large for that, or a
    float32 if it has a point or exponent.

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
    """Return the value of a number in an attribute.

    Raises:
        ValueError: It is no int of 64 bits.
    """
    value, _ = _number(text)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"'{text[:40]}' is no int of 64 bits")
    return value


def _number(text: str) -> tuple[int | float, str]:
    """Return the value and the suffix of a number's text."""
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
    """Return an attribute's value as text: a sequence in brackets, a float with `f`.

    Args:
        value: The value.
        of_type: Returns the text of a type in it.
    """
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float):
        digits = float.__repr__(value) if math.isfinite(value) else float_word(value)
        # The suffix of a word follows its letters, as in `nanf(5)`.
        word, opening, carried = digits.partition("(")
        return f"{word}f{opening}{carried}"
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
    if not items:
        return []
    return [f"{_key_text(k)}={value_text(v)}" for k, v in items.items()]


def _key_text(name: str) -> str:
    return json.dumps(name) if name in _KEYWORDS else name_text(name)


def attrs_text(attrs: msgspec.Struct | Mapping[str, Any] | None) -> list[str]:
    """Return `key=value` for each attribute of a call that differs from its default."""
    if not isinstance(attrs, msgspec.Struct):
        return items_text(attrs)
    texts: list[str] = []
    for name, usual, usual_text in _defaults(type(attrs)):
        value = getattr(attrs, name)
        if value is not usual and (text := value_text(value)) != usual_text:
            texts.append(f"{name}={text}")
    return texts


@functools.cache
def _defaults(kind: type[msgspec.Struct]) -> list[tuple[str, Any, str]]:
    fields = msgspec.structs.fields(kind)
    return [(one.name, one.default, value_text(one.default)) for one in fields]
