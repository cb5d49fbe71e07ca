"""A pass that reads all functions of a module, and an IR whose functions are values."""

from __future__ import annotations

from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo, register_adapter
from tests.support.toy.ir import Fn, Program, ToyAdapter

_read: dict[str, dict[str, Fn]] = {}  # in each process, by who reads


class ValueProgram(Program):
    """A module; the first number of each function `f7` is 7."""


class ValueAdapter(ToyAdapter):
    mutability: Any = None


register_adapter(ValueProgram, ValueAdapter())


class ReadOnce(FunctionPass):
    """Reads all functions on the first one; is given those then, not others like them.

    Args:
        reader: Tells its notes from those of earlier runs.
    """

    pass_info = PassInfo(0, "ReadOnce")

    def __init__(self, reader: str) -> None:
        self.reader = reader

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        read = _read.setdefault(self.reader, {})
        if not read:
            read.update(mod.functions)
        if read[f"f{func.values[0]}"] is not func:
            raise ValueError("expected the function that was read before")
        return func
