"""A pass on the toy IR that waits until a file is there; workers import it."""

from __future__ import annotations

import time
from pathlib import Path

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

_MAX_SECONDS = 60.0


class WaitOn(FunctionPass):
    """Waits, on functions with a number, until a file is there; then adds 1."""

    pass_info = PassInfo(0, "WaitOn")

    def __init__(self, number: int, path: str) -> None:
        self.number, self.path = number, path

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.monotonic() + _MAX_SECONDS
        while self.number in func.values and not Path(self.path).exists():
            assert time.monotonic() < until
            time.sleep(0.001)  # which costs those that wait for it no core
        return func.with_values(value + 1 for value in func.values)
