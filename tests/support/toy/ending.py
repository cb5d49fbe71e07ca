"""Functions and passes on the toy IR that end a worker, or hang: where and how."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program


def end(how: str) -> None:
    """End this process, or hang, in one of several ways."""
    match how:
        case "raise":
            raise ValueError("it cannot be")
        case "quit":
            raise SystemExit(3)
        case "exit":
            os._exit(3)
        case "segfault":
            ctypes.string_at(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            while True:
                ctypes.CDLL(None).pause()  # in C, where nothing in Python can end it
        case _:
            raise AssertionError(how)


class EndIn(FunctionPass):
    """Ends the process on functions that have one of some numbers; adds 1 to others."""

    pass_info = PassInfo(0, "EndIn")

    def __init__(self, how: str, *numbers: int) -> None:
        self.how = how
        self.numbers = numbers

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if any(number in func.values for number in self.numbers):
            end(self.how)
        return func.with_values(value + 1 for value in func.values)


class HangOnAll(FunctionPass):
    """Adds the name of a function to a file, and hangs."""

    pass_info = PassInfo(0, "HangOnAll")

    def __init__(self, begun: str) -> None:
        self.begun = begun

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with Path(self.begun).open("a") as file:
            file.write(f"{ctx.function_name}\n")
        end("hang")
        return func


class SlowToSend(int):
    """A number that takes some milliseconds to be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        until = time.perf_counter() + 0.004
        while time.perf_counter() < until:
            pass
        return int, (int(self),)


class EndsOnTheWay:
    """A value in a function that ends the process that unpickles it."""

    def __init__(self, how: str, coordinator: int) -> None:
        self.how = how
        self.coordinator = coordinator

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (self.how, self.coordinator)


def _arrive(how: str, coordinator: int) -> EndsOnTheWay:
    if os.getpid() != coordinator:
        end(how)
    return EndsOnTheWay(how, coordinator)


class EndsWhenSent:
    """A value in a function that ends the worker that pickles it."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        end(self.how)
        raise AssertionError


class ReturnEnding(FunctionPass):
    """Returns something that cannot be sent back, for a number; adds 1 to others."""

    pass_info = PassInfo(0, "ReturnEnding")

    def __init__(self, how: str, number: int) -> None:
        self.how = how
        self.number = number

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values:
            odd: Any = EndsWhenSent(self.how)
            return func.with_values([odd])
        return func.with_values(value + 1 for value in func.values)


class EndAtStart(FunctionPass):
    """A pass that ends the worker into which it is loaded."""

    pass_info = PassInfo(0, "EndAtStart")

    def __init__(self, how: str, coordinator: int) -> None:
        self.how = how
        self.coordinator = coordinator

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.how, self.coordinator)

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func


def _load(how: str, coordinator: int) -> EndAtStart:
    if os.getpid() != coordinator:
        end(how)
    return EndAtStart(how, coordinator)


class LeaveBehind(FunctionPass):
    """Adds 1, and leaves what ends the process when it is to end anyway."""

    pass_info = PassInfo(0, "LeaveBehind")

    def __init__(self, how: str) -> None:
        self.how = how

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        import atexit

        atexit.register(end, self.how)
        return func.with_values(value + 1 for value in func.values)


@dataclass(frozen=True)
class Tell:
    """Puts the process's number in a folder, as a file."""

    folder: str

    def __call__(self) -> None:
        Path(self.folder, str(os.getpid())).touch()


class TellProcess(FunctionPass):
    """Adds 1, and tells in which process."""

    pass_info = PassInfo(0, "TellProcess")

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.tell()
        return func.with_values(value + 1 for value in func.values)


class Allocate(FunctionPass):
    """Takes memory, a lot of it for a number; adds 1."""

    pass_info = PassInfo(0, "Allocate")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        taken = bytearray(self.size if self.number in func.values else 1)
        return func.with_values(value + len(taken[:1]) for value in func.values)
