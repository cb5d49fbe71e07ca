"""A pass's options: its constructor's arguments, kept as attributes of their names.

That convention is all that pipeline text, the printer and `--help-pass` go by.
"""

from __future__ import annotations

import enum
import inspect
import json
import math
import re
import struct
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from parpass.transform.passes import Sequential
from parpass.transform.pipeline.grammar import WORDS, Items, Scalar, Value

_BARE = re.compile(r"[A-Za-z_][\w./:*+-]*")


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """An option as the constructor declares it.

    `kind` is the annotation of its type; `Any` if there is none that can be found.
    `default` is `inspect.Parameter.empty` if the option must be given.
    """

    name: str
    kind: Any
    default: Any

    @property
    def is_needed(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def kind_text(self) -> str:
        """The type as text; empty if there is none."""
        return "" if self.kind is Any else inspect.formatannotation(self.kind)


def options_of(factory: Callable[..., Any]) -> tuple[dict[str, OptionSpec], bool]:
    """Return the options of a pass, and whether it takes any others besides."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}, True  # nothing can be known of it
    kinds = _annotations(factory)
    specs = {
        one.name: OptionSpec(one.name, kinds.get(one.name) or _kind(one), one.default)
        for one in parameters
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    if factory is Sequential:
        del specs["passes"]  # they are in the parentheses
    return specs, any(one.kind is one.VAR_KEYWORD for one in parameters)


def _kind(parameter: inspect.Parameter) -> Any:
    """Return the type in a signature that is not made from annotations."""
    kind = parameter.annotation
    return Any if kind is inspect.Parameter.empty or isinstance(kind, str) else kind


def _annotations(factory: Any) -> dict[str, Any]:
    function = factory.__init__ if inspect.isclass(factory) else factory
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}  # of names that are there for type checkers only


def from_text(value: Value, spec: OptionSpec) -> Any:
    """Return a value of pipeline text, converted to the type of an option.

    A word becomes a string if one is expected, and a single value a list of one.

    Raises:
        ValueError: It cannot be converted.
    """
    if spec.kind is Any:
        return _plain(value)
    for meaning in _meanings(value):
        try:
            return msgspec.convert(meaning, spec.kind)
        except msgspec.ValidationError:
            continue
        except TypeError:
            return _plain(value)  # a type that msgspec does not know
    raise ValueError(f"expected {spec.kind_text}, got {to_text(_plain(value))}")


def _meanings(value: Value) -> Iterator[Any]:
    plain, words = _plain(value), _plain(value, as_words=True)
    yield from (plain, words)
    if isinstance(value, Scalar):
        yield from ([plain], [words])


def _plain(value: Value, *, as_words: bool = False) -> Any:
    if isinstance(value, Items):
        return [_plain(element, as_words=as_words) for element in value.elements]
    return value.word if as_words and value.word is not None else value.value


def to_text(value: object, *, in_list: bool = False) -> str:
    """Return an option's value as pipeline text, with brackets if they are needed.

    Raises:
        ValueError: There is no text for a value of its type.
    """
    if isinstance(value, list | tuple):
        elements = cast("list[object] | tuple[object, ...]", value)
        joined = ",".join(to_text(one, in_list=True) for one in elements)
        is_nested = any(isinstance(one, list | tuple) for one in elements)
        is_flat = len(elements) > 1 and not in_list and not is_nested
        return joined if is_flat else f"[{joined}]"
    if isinstance(value, enum.Enum):
        return to_text(value.value)
    if isinstance(value, str):
        is_bare = _BARE.fullmatch(value) and value not in WORDS
        return value if is_bare else json.dumps(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _float_text(value)
    raise ValueError(f"a {type(value).__name__} has no text")


def _float_text(value: float) -> str:
    if not math.isnan(value):
        return float.__repr__(value)
    text = "-nan" if math.copysign(1.0, value) < 0 else "nan"
    if struct.pack("d", value) != struct.pack("d", WORDS[text]):
        raise ValueError("a NaN with a payload has no text")
    return text


def changed_options(
    pass_: Any, specs: Mapping[str, OptionSpec]
) -> Iterator[tuple[str, str]]:
    """Yield the options that are not at their defaults, with their values as text.

    Raises:
        ValueError: An option is not kept as an attribute, or has no text.
    """
    for name, spec in specs.items():
        if not hasattr(pass_, name):
            raise ValueError(f"option '{name}' is not kept as an attribute")
        value = getattr(pass_, name)
        if value is spec.default:
            continue
        try:
            text = to_text(value)
        except ValueError as error:
            raise ValueError(f"option '{name}': {error}") from None
        if not _is_text_of(text, spec.default):
            yield name, text


def _is_text_of(text: str, value: object) -> bool:
    try:
        return text == to_text(value)
    except ValueError:
        return False
