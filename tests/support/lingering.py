"""Passes on the toy IR that take their time, and what takes time on its way."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from parpass.transform import FunctionPass, Pass, PassContext, PassInfo
from tests.support.toy_ir import Fn, Program

# Of seconds: what ends at once may wait for a core so long, where others want one, too.
LIMIT, LONG = 0.05, 0.1


class Linger(FunctionPass):
    """Takes some time on functions that have a number; adds 1."""

    pass_info = PassInfo(0, "Linger")

    def __init__(self, number: int, seconds: float = LONG) -> None:
        self.number = number
        self.seconds = seconds

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.perf_counter() + self.seconds * (self.number in func.values)
        while time.perf_counter() < until:
            pass
        return func.with_values(value + 1 for value in func.values)


class SlowNumber(int):
    """A number that takes some time to pickle, and to unpickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _slow_number, (int(_slow_number(self)),)


def _slow_number(number: int) -> SlowNumber:
    until = time.perf_counter() + LONG
    while time.perf_counter() < until:
        pass
    return SlowNumber(number)


class RunInside(FunctionPass):
    """Runs another pass on a program of its own; adds 1."""

    pass_info = PassInfo(0, "RunInside")

    def __init__(self, inner: Pass) -> None:
        self.inner = inner

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        inside = self.inner(Program({"inside": func}))["inside"]
        return inside.with_values(value + 1 for value in inside.values)


class FailFirst(FunctionPass):
    """Takes its time, and fails when it first sees a function in this process."""

    pass_info = PassInfo(0, "FailFirst")
    seconds = 0.6
    seen: ClassVar[set[str]] = set()

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert ctx.function_name is not None
        time.sleep(self.seconds)
        if ctx.function_name not in self.seen:
            self.seen.add(ctx.function_name)
            raise ValueError("first")
        return func.with_values(value + 1 for value in func.values)
