"""Passes for isolated runs: they tell where and how often they run, or end it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ending import end
from tests.support.toy.ir import Fn, Program
from tests.support.toy.signed_ir import EndWhereTold


class LeaveBehind(FunctionPass):
    """Has effects outside of what it returns: on imports, environment and globals."""

    pass_info = PassInfo(0, "LeaveBehind")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        sys.path.append(LEFT)
        os.environ[LEFT] = "1"
        left_behind.append(LEFT)
        return func


LEFT = "PARPASS_TEST_LEFT_BEHIND"
left_behind: list[str] = []


def is_left_behind() -> list[bool]:
    """Return what of `LeaveBehind` is to be seen in this process; clear it away."""
    found = [LEFT in sys.path, LEFT in os.environ, bool(left_behind)]
    sys.path[:] = [one for one in sys.path if one != LEFT]
    os.environ.pop(LEFT, None)
    left_behind.clear()
    return found


class Both(FunctionPass):
    """Fails on functions that have 1, after a while; ends the process on one with 8."""

    pass_info = PassInfo(0, "Both")

    def __init__(self, how: str) -> None:
        self.how = how

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if 1 in func.values:
            until = time.perf_counter() + 0.2
            while time.perf_counter() < until:
                pass
            raise ValueError("met 1")
        if 8 in func.values:
            end(self.how)
        return func


class Retype(FunctionPass):
    """Has functions state other types, so that their callers run again."""

    pass_info = PassInfo(0, "Retype")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, 7))


class NoteRuns(EndWhereTold):
    """Takes down, in a folder, how often it is run on each function."""

    pass_info = PassInfo(0, "NoteRuns")

    def __init__(self, folder: Path, function: str, other: str) -> None:
        super().__init__(function, other, -1)
        self.folder = folder

    def transform_function(self, func: Fn, mod: Any, ctx: PassContext) -> Fn:
        with (self.folder / str(ctx.function_name)).open("a") as file:
            file.write("x")
        return super().transform_function(func, mod, ctx)
