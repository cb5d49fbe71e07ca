"""Passes on the toy IR that are hard on the workers, or on what travels."""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import sys
import threading
from contextvars import ContextVar
from typing import Any

from parpass.runner.follow.propagation import propagate
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

propagated: ContextVar[Any] = propagate(ContextVar("test_propagated", default=0))


class Exit(FunctionPass):
    """Ends the process on functions that have a number."""

    pass_info = PassInfo(0, "Exit")

    def __init__(self, number: int, signalled: int | None = None) -> None:
        self.number = number
        self.signalled = signalled

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values:
            if self.signalled is not None:
                signal.raise_signal(self.signalled)
            os._exit(3)
        return func


class ExitOnce(FunctionPass):
    """Ends the process on functions that have a number, if no file tells of it."""

    pass_info = PassInfo(0, "ExitOnce")

    def __init__(self, number: int, path: str) -> None:
        self.number = number
        self.path = path

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values and not os.path.exists(self.path):
            with open(self.path, "w"):
                os._exit(3)
        return func


class Hang(FunctionPass):
    """Opens a named pipe to tell that it has begun, and does not end by itself."""

    pass_info = PassInfo(0, "Hang")

    def __init__(self, path: str) -> None:
        self.path = path

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with open(self.path, "w"):
            pass
        while True:
            signal.pause()


# What is inherited is closed: whoever reads from it waits for all its writers.
_TELL_AND_WAIT = """
import os, signal, sys
os.closerange(3, 256)
open(sys.argv[1], "w").close()
signal.alarm(60)
signal.pause()
"""


class HoldLock(FunctionPass):
    """Opens a named pipe for each function; on one keeps Python's lock for a minute.

    From before that pipe is opened: by a call that does not let go of the lock.
    """

    pass_info = PassInfo(0, "HoldLock")

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        pipe = f"{self.path}-{func.values[0]}"
        if self.number in func.values:
            command = shlex.join([sys.executable, "-c", _TELL_AND_WAIT, pipe])
            ctypes.PyDLL(None).system(f"exec {command} 2> /dev/null".encode())
        with open(pipe, "w"):
            pass
        return func


class AppendPropagated(FunctionPass):
    """Appends the value of a propagated contextvar."""

    pass_info = PassInfo(0, "AppendPropagated")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, propagated.get()))


class SetPropagated(FunctionPass):
    """Sets the propagated contextvar to 99, and appends what it was."""

    pass_info = PassInfo(0, "SetPropagated")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        before = propagated.get()
        propagated.set(99)
        return func.with_values((*func.values, before))


class AppendPid(FunctionPass):
    """Appends the number of the process that it runs in."""

    pass_info = PassInfo(0, "AppendPid")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, os.getpid()))


class Locked(FunctionPass):
    """Cannot travel, because it has a lock; appends the number of its process."""

    pass_info = PassInfo(0, "Locked")

    def __init__(self) -> None:
        self.state = {"lock": threading.Lock()}

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with self.state["lock"]:
            return func.with_values((*func.values, os.getpid()))


class Remember(FunctionPass):
    """Writes to itself."""

    pass_info = PassInfo(0, "Remember")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.last = func
        return func


class Raise(FunctionPass):
    """Raises an error that it is given, made by a callable where it runs."""

    pass_info = PassInfo(0, "Raise")

    def __init__(self, make: Any) -> None:
        self.make = make

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        raise self.make()


class RunInside(FunctionPass):
    """Runs another pass on a module of its own from its body."""

    pass_info = PassInfo(0, "RunInside")

    def __init__(self, inner: Any, workers: int | None = None) -> None:
        self.inner = inner
        self.workers = workers

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        given = Program({"inner": func, "other": func})
        if self.workers is None:
            return self.inner(given)["inner"]
        from parpass import run_pipeline_sync

        return run_pipeline_sync(given, self.inner, workers=self.workers)["inner"]


class TellsItsEnd(AppendPid):
    """Also writes to a named pipe when it is freed in a worker."""

    pass_info = PassInfo(0, "TellsItsEnd")

    def __init__(self, path: str) -> None:
        self.path = path
        self.here = os.getpid()
        self.itself = self  # so that it is freed by the collector alone

    def __del__(self) -> None:
        if os.getpid() != self.here:
            with open(self.path, "w") as file:
                file.write(str(os.getpid()))


class Lock(FunctionPass):
    """Puts something into functions that cannot be pickled."""

    pass_info = PassInfo(0, "Lock")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        lock: Any = threading.Lock()
        return Fn((*func.values, lock))


class Unlock(FunctionPass):
    """Takes it out again."""

    pass_info = PassInfo(0, "Unlock")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return Fn(func.values[:-1])


class Memo(FunctionPass):
    """Remembers by name what it gave, which no later run may see."""

    pass_info = PassInfo(0, "Memo")

    def __init__(self) -> None:
        self.memo: dict[str, Fn] = {}

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        name = ctx.function_name
        assert name is not None
        return self.memo.setdefault(name, func.with_values([*func.values, 1]))
