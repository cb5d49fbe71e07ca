"""A function that hangs while a worker decodes it, and a pass that waits for that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ending import end
from tests.support.toy.ir import Fn, Program


class HangsWhenDecoded:
    """A value in a function that opens a pipe and hangs, in each other process."""

    def __init__(self, pipe: str, coordinator: int) -> None:
        self.pipe, self.coordinator = pipe, coordinator

    def __reduce__(self) -> tuple[Any, ...]:
        return _decode, (self.pipe, self.coordinator)


def _decode(pipe: str, coordinator: int) -> HangsWhenDecoded:
    if os.getpid() != coordinator:
        Path(pipe).write_bytes(b"")
        end("hang")
    return HangsWhenDecoded(pipe, coordinator)


class FailOnceOpened(FunctionPass):
    """Fails on functions of several numbers, once the pipe has been opened."""

    pass_info = PassInfo(0, "FailOnceOpened")

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if len(func.values) > 1:
            Path(self.pipe).read_bytes()
            raise ValueError("too many")
        return func
