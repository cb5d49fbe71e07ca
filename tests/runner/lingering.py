"""Passes on the toy IR that take their time, and what takes time on its way."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from parpass.transform import FunctionPass, Pass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

# Of seconds: what ends at once may wait for a core so long, where others want one, too.
LIMIT, LONG = 0.2, 0.3


class Linger(FunctionPass):
    """Takes some time on functions that have a number; adds 1."""

    pass_info = PassInfo(0, "Linger")

    def __init__(self, number: int, seconds: float = LONG) -> None:
        self.number = number
        self.seconds = seconds

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values:
            time.sleep(self.seconds)
        return func.with_values(value + 1 for value in func.values)


class Burn(FunctionPass):
    """Takes time of the processor, however busy that is, where a number is; adds 1."""

    pass_info = PassInfo(0, "Burn")

    def __init__(self, number: int, seconds: float = LONG) -> None:
        self.number = number
        self.seconds = seconds

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        began = time.thread_time()
        while self.number in func.values and time.thread_time() < began + self.seconds:
            pass
        return func.with_values(value + 1 for value in func.values)


class BurnElsewhere(Burn):
    """Waits for a thread that takes time of the processor."""

    pass_info = PassInfo(0, "BurnElsewhere")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with ThreadPoolExecutor(1) as threads:
            burn = super().transform_function
            return threads.submit(burn, func, mod, ctx).result()


class SlowNumber(int):
    """A number that takes some time to pickle, and to unpickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _slow_number, (int(_slow_number(self)),)


def _slow_number(number: int) -> SlowNumber:
    time.sleep(LONG)
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
