"""The entry point of MLIR's text: what is known of it without loading xDSL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parpass.integrations.xdsl.thresholds import LARGE_PROGRAM
from parpass.spi import IR

_LOOKED_AT = 100_000
_DIALECT = re.compile(r"(?<![\w.%@#!^\"])([a-z_]\w*)\.[a-z]")
_ADAPTER = "parpass.integrations.xdsl.xdsl_adapter"
_ALWAYS = (_ADAPTER, "xdsl.transforms.canonicalize")


def worker_modules(text: str) -> Sequence[str]:
    """Return the modules for the dialects of a text; some may not be there."""
    names = sorted(set(_DIALECT.findall(text[:_LOOKED_AT])))
    dialects = [f"xdsl.dialects.{name}" for name in names]
    patterns = [f"xdsl.transforms.canonicalization_patterns.{name}" for name in names]
    return *_ALWAYS, *dialects, *patterns


MLIR = IR(
    "mlir",
    _ADAPTER,
    suffixes=(".mlir",),
    requirement="parpass[xdsl]",
    preload=worker_modules,
    preload_bytes=LARGE_PROGRAM,
)
