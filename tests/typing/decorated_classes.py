"""What pyright makes of decorated classes; mypy leaves them as they are written."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from typing import assert_type

import parpass
from parpass import IRModule, PassContext, Sequential
from parpass.relay import Function
from parpass.transform.decorators import FunctionPassOfClass, ModulePassOfClass


@parpass.module_pass(opt_level=1)
class Rename:
    def __init__(self, old: str, *, new: str = "x") -> None:
        self.old = old

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod


@parpass.function_pass(opt_level=1)
class Inline:
    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return func


assert_type(Rename("main"), ModulePassOfClass)
assert_type(Inline(), FunctionPassOfClass)
Sequential([Rename("main", new="f"), Inline()])
Rename(7)  # pyright: ignore[reportArgumentType]
Rename("main", newer="f")  # pyright: ignore[reportCallIssue]
Inline(1)  # pyright: ignore[reportCallIssue]
