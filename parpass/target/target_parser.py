"""Targets as text, mappings and JSON, checked; and processors by name.

The name of a processor stands for its features, and those are all that is known of it:
names that systems give are wrong at times, and code must say what it needs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from parpass.errors import TargetError
from parpass.errors.core import did_you_mean, quoted

_V2 = ("popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_CASCADELAKE = (*_V4, "avx512vnni")
_ICELAKE = (*_CASCADELAKE, "avx512vbmi")
_COOPERLAKE = (*_CASCADELAKE, "avx512bf16")
_SAPPHIRE_RAPIDS = (*_ICELAKE, "avx512bf16", "avxvnni")
_GRAVITON2 = ("dotprod", "fullfp16", "neon")
_GRAVITON3 = (*_GRAVITON2, "bf16", "i8mm")

# By architecture and name. Levels of x86-64 are those of its System V ABI.
CPUS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "x86_64": {
        "generic": (),
        "x86-64": (),
        "nehalem": _V2,
        "x86-64-v2": _V2,
        "sandybridge": (*_V2, "avx"),
        "ivybridge": (*_V2, "avx", "f16c"),
        "haswell": _V3,
        "core-avx2": _V3,
        "broadwell": _V3,
        "skylake": _V3,
        "x86-64-v3": _V3,
        "znver1": _V3,
        "znver2": _V3,
        "znver3": _V3,
        "skylake-avx512": _V4,
        "x86-64-v4": _V4,
        "cascadelake": _CASCADELAKE,
        "cooperlake": _COOPERLAKE,
        "icelake-client": _ICELAKE,
        "icelake-server": _ICELAKE,
        "rocketlake": _ICELAKE,
        "sapphirerapids": _SAPPHIRE_RAPIDS,
        "znver4": (*_ICELAKE, "avx512bf16"),
    },
    "aarch64": {
        "generic": ("neon",),
        "cortex-a53": ("neon",),
        "cortex-a72": ("neon",),
        "neoverse-n1": _GRAVITON2,
        "neoverse-v1": _GRAVITON3,
    },
}

# What each feature needs, which LLVM takes to be there with it.
_NEEDS = {
    "sse4.2": ("sse4.1",),
    "sse4.1": ("ssse3",),
    "ssse3": ("sse3",),
    "avx": ("sse4.2",),
    "avx2": ("avx",),
    "f16c": ("avx",),
    "fma": ("avx",),
    "avxvnni": ("avx2",),
    "avx512f": ("avx2", "f16c", "fma"),
    "avx512bw": ("avx512f",),
    "avx512cd": ("avx512f",),
    "avx512dq": ("avx512f",),
    "avx512vl": ("avx512f",),
    "avx512bf16": ("avx512bw",),
    "avx512vbmi": ("avx512bw",),
    "avx512vnni": ("avx512f",),
    "bf16": ("neon",),
    "dotprod": ("neon",),
    "fullfp16": ("neon",),
    "i8mm": ("neon",),
}


def with_all_that_they_need(features: Iterable[str]) -> frozenset[str]:
    """Return features, and what each of them needs, directly or not."""
    found: set[str] = set()
    waiting = [*features]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _NEEDS.get(one, ())
    return frozenset(found)


def without(features: Iterable[str], name: str) -> frozenset[str]:
    """Return features but for one, and for those that need it."""
    return frozenset(
        one for one in features if name not in with_all_that_they_need([one])
    )


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
    """The options of a target, as parsed."""

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
