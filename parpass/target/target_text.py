"""Targets as text, as mappings and as JSON: what they say, checked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from parpass.errors import TargetError, did_you_mean, quoted

KINDS = ("llvm",)

_OPTIONS = {  # of `llvm`, by TVM; whether there are several values
    "device": False,
    "keys": True,
    "libs": True,
    "mattr": True,
    "mcpu": False,
    "model": False,
    "mtriple": False,
    "num-cores": False,
}


class Said(NamedTuple):
    """What was said of a target."""

    kind: str
    options: dict[str, Any]
    host: Any


def read_target(target: Any) -> Said:
    """Return what text says of a target, or a mapping, or the JSON text of one.

    Raises:
        TargetError: It cannot be read, or says what no target has.
    """
    if isinstance(target, str):
        text = target.strip()
        if text.startswith("{"):
            return read_target(_of_json(text))
        kind, *words = _words(text) or [""]
        return Said(_checked_kind(kind, text), _options(words, text), None)
    if not isinstance(target, Mapping):
        raise TargetError(
            f"expected a target's text or a mapping, got {type(target).__name__}"
        )
    text = str(cast("object", target))
    said = dict(cast("Mapping[str, Any]", target))
    kind, host = said.pop("kind", ""), said.pop("host", None)
    if tag := said.pop("tag", ""):
        raise TargetError(f"no target has the tag '{tag}'; say its kind")
    given = {name: _value(name, value, text) for name, value in said.items()}
    return Said(_checked_kind(kind, text), given, host)


def _of_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise TargetError(f"the JSON of a target cannot be read: {error}") from None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise TargetError(f"target '{text}' cannot be read: {error}") from None


def _checked_kind(kind: str, text: str) -> str:
    if kind not in KINDS:
        raise TargetError(
            f"expected a target of kind 'llvm', got '{kind}' in '{text:.60}'; code is "
            "made for processors alone"
        )
    return kind


def _options(words: Iterable[str], text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, is_whole, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not (is_whole or (value := next(rest, ""))):
            raise TargetError(
                f"expected options such as -mcpu=NAME, got '{word}' in '{text:.60}'"
            )
        found[name] = _value(name, value, text)
    return found


def _value(name: str, value: Any, text: str) -> Any:
    if name not in _OPTIONS:
        raise TargetError(
            f"target '{text:.60}' has no option '{name}'"
            f"{did_you_mean(name, _OPTIONS)}; there are {quoted(_OPTIONS)}"
        )
    if not _OPTIONS[name]:
        return str(value)
    several = value.split(",") if isinstance(value, str) else value
    return tuple(str(one) for one in several if one)
