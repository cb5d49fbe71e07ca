"""Processors by name: what code for one may use.

A name stands for features here, and those are all that is known of a processor: names
that systems give are wrong at times, and code must say what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
