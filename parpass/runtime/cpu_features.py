"""Features of a processor beyond its architecture's baseline, by LLVM's names.

A program declares the features that its code uses, and they are checked before it runs:
an unknown instruction ends a process by a signal.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from pathlib import Path

_X86_64 = {
    "avx": "avx",
    "avx2": "avx2",
    "avx512bf16": "avx512_bf16",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512f": "avx512f",
    "avx512vbmi": "avx512vbmi",
    "avx512vl": "avx512vl",
    "avx512vnni": "avx512_vnni",
    "avxvnni": "avx_vnni",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "f16c": "f16c",
    "fma": "fma",
    "lzcnt": "abm",
    "popcnt": "popcnt",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "ssse3": "ssse3",
}
_AARCH64 = {
    "bf16": "bf16",
    "dotprod": "asimddp",
    "fullfp16": "asimdhp",
    "i8mm": "i8mm",
    "neon": "asimd",
}

# By architecture: the features that code may use, and what Linux calls them.
FEATURES: Mapping[str, Mapping[str, str]] = {"x86_64": _X86_64, "aarch64": _AARCH64}

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


def architecture() -> str:
    """Return the name of this machine's architecture, as LLVM has it."""
    found = platform.machine().lower()
    return _ARCHITECTURES.get(found, found)


@functools.cache
def host_features() -> frozenset[str]:
    """Return the features of this processor that code may use.

    Where the system does not tell, there are none: a slower road, and a safe one.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    flags = {
        flag
        for key, _, value in lines
        if key.strip() in ("flags", "Features")
        for flag in value.split()
    }
    known = FEATURES.get(architecture(), {})
    return frozenset(name for name, flag in known.items() if flag in flags)
