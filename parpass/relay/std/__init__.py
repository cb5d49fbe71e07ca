"""The standard library: `.rly` files in Relay's text, parsed on demand."""

from __future__ import annotations

import functools
from pathlib import Path

from parpass.errors import ModuleError
from parpass.errors.core import did_you_mean
from parpass.ir.module import IRModule
from parpass.relay.text.parser import parse
from parpass.relay.transform.infer_type import InferType

# The files that each file imports, which are read with it.
_FILES = {
    "gradient.rly": ("gradient.rly",),
    "nat.rly": ("prelude.rly", "nat.rly"),
    "prelude.rly": ("prelude.rly",),
}


@functools.cache
def library(file_name: str) -> IRModule:
    """Return a file's definitions, typed, with those they need; not to be changed.

    Raises:
        ModuleError: There is no such file.
    """
    if file_name not in _FILES:
        raise ModuleError(
            f"there is no '{file_name}' in the standard library"
            f"{did_you_mean(file_name, _FILES)}; it has {', '.join(_FILES)}"
        )
    here = Path(__file__).parent
    text = "\n".join((here / name).read_text("utf-8") for name in _FILES[file_name])
    return InferType()(parse(text, file_name))
