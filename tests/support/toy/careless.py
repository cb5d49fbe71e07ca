"""Function passes on the toy IR that break the contract, each in one way."""

from __future__ import annotations

import copy
import functools
import os
import signal
import warnings
from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo, function_pass
from tests.support.toy import kept
from tests.support.toy.box_ir import Body, Box
from tests.support.toy.ir import Fn, Program

SEEN: list[str] = []
COLORS = ("red", "green", "blue", "white")


class Careless(FunctionPass):
    """Appends what `spoiled` gives."""

    pass_info = PassInfo(0, "Careless")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, self.spoiled(ctx)))

    def spoiled(self, ctx: PassContext) -> int:
        raise NotImplementedError


class WritesItself(Careless):
    """Counts in an attribute."""

    def __init__(self) -> None:
        self.count = 0

    def spoiled(self, ctx: PassContext) -> int:
        self.count += 1
        return 0


class WritesInsideItself(Careless):
    """Keeps functions in an attribute, which stays the same object."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}

    def spoiled(self, ctx: PassContext) -> int:
        self.seen[str(ctx.function_name)] = 1
        return 0


class Copied:
    """What a pass copies, on whose class Python then notes how."""


class Copies(Careless):
    """Copies an object, which is not careless."""

    def spoiled(self, ctx: PassContext) -> int:
        copy.copy(Copied())
        return 0


@functools.cache
def _made_once(values: tuple[int, ...]) -> Box:
    return Box(Body((*values, 0)))


class KeepsResults(FunctionPass):
    """Gives back what it made before of the same numbers."""

    pass_info = PassInfo(0, "Careless")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        return _made_once(func.values)


def _remember(name: str) -> None:
    SEEN.append(name)


class WritesGlobal(Careless):
    """Changes a global, by way of another function."""

    def spoiled(self, ctx: PassContext) -> int:
        _remember(str(ctx.function_name))
        return 0


class WritesItsClass(Careless):
    """Counts in an attribute of its class."""

    total = 0

    def spoiled(self, ctx: PassContext) -> int:
        type(self).total += 1
        return 0


class WritesElsewhere(Careless):
    """Changes a global of another module."""

    def spoiled(self, ctx: PassContext) -> int:
        kept.KEPT.append(str(ctx.function_name))
        return 0


class UsesSets(Careless):
    """Gives what comes first out of a set."""

    def spoiled(self, ctx: PassContext) -> int:
        return COLORS.index(next(iter(set(COLORS))))


class Warns(Careless):
    """Warns, which is an error where the filters say so."""

    def spoiled(self, ctx: PassContext) -> int:
        try:
            warnings.warn("careless", stacklevel=2)
        except UserWarning:
            return os.getpid()
        return 0


class Hangs(FunctionPass):
    """Does not end."""

    pass_info = PassInfo(0, "Hangs")
    function_timeout = 0.1

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        while True:
            signal.pause()


class UsesHashes(Careless):
    """Gives what depends on the hash seed."""

    def spoiled(self, ctx: PassContext) -> int:
        return hash(ctx.function_name) % 1000


class UsesProcess(Careless):
    """Gives what depends on the process."""

    def spoiled(self, ctx: PassContext) -> int:
        return os.getpid()


class UsesFirst(Careless):
    """Gives the function that the process saw first, hidden where nobody looks."""

    def spoiled(self, ctx: PassContext) -> int:
        return int(os.environ.setdefault("FIRST", str(ctx.function_name))[1:])


class UsesTimes(Careless):
    """Gives how often it was run, hidden where nobody looks."""

    def spoiled(self, ctx: PassContext) -> int:
        name = f"TIMES_{ctx.function_name}"
        os.environ[name] = str(int(os.environ.get(name, "0")) + 1)
        return int(os.environ[name])


class WritesInput(FunctionPass):
    """Changes the function that it was given."""

    pass_info = PassInfo(0, "WritesInput")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        object.__setattr__(func, "values", (*func.values, 7))
        return func


class FailsByHash(FunctionPass):
    """Raises what depends on the hash seed."""

    pass_info = PassInfo(0, "FailsByHash")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        raise ValueError(hash(ctx.function_name))


class Orderly(Careless):
    """Keeps the contract; uses what may be used."""

    table = (1, 2, 3)

    def spoiled(self, ctx: PassContext) -> int:
        ctx.count("orderly")
        return len(self.table)


def counting() -> FunctionPass:
    """Return a pass that counts in a variable of its closure."""
    count = 0

    @function_pass(opt_level=0)
    def closure(func: Fn, mod: Program, ctx: PassContext) -> Fn:
        nonlocal count
        count += 1
        return func

    return closure
