"""Passes on the toy IR with signatures that tell where they are called, and of what."""

from __future__ import annotations

import os
from typing import ClassVar

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ending import end
from tests.support.toy.ir import Fn, ReadOnlyProgram
from tests.support.toy.signed_ir import EndWhereTold


class EndElsewhere(EndWhereTold):
    """Does so in a process; in this one, takes down that it was called."""

    pass_info = PassInfo(0, "EndElsewhere")
    called: ClassVar[list[str]] = []

    def __init__(self, function: str, other: str, *numbers: int) -> None:
        super().__init__(function, other, *numbers)
        self.here = os.getpid()

    def end(self) -> None:
        if os.getpid() == self.here:
            self.called.append(self.function)
        else:
            end("exit")


class Reads(FunctionPass):
    """Has a function read another one."""

    pass_info = PassInfo(0, "Reads")

    def __init__(self, function: str, other: str) -> None:
        self.function = function
        self.other = other

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        if ctx.function_name != self.function:
            return func
        return func.with_values((*func.values, *mod[self.other].values))
