"""What workers load before they are given MLIR's text; told without loading xDSL."""

from __future__ import annotations

import re
from collections.abc import Sequence

IR_NAME, SUFFIX = "mlir", ".mlir"
MUCH_TEXT = 80_000  # characters, which take half a second to be read and verified
_LOOKED_AT = 100_000
_DIALECT = re.compile(r"(?<![\w.%@#!^\"])([a-z_]\w*)\.[a-z]")
_ALWAYS = ("parpass.adapters.xdsl.mlir_programs", "xdsl.transforms.canonicalize")


def worker_modules(text: str) -> Sequence[str]:
    """Return the modules for the dialects of a text; some may not be there."""
    names = sorted(set(_DIALECT.findall(text[:_LOOKED_AT])))
    dialects = [f"xdsl.dialects.{name}" for name in names]
    patterns = [f"xdsl.transforms.canonicalization_patterns.{name}" for name in names]
    return *_ALWAYS, *dialects, *patterns
