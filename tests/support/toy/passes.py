"""Passes on the toy IR, each of which shows one thing that passes do."""

from __future__ import annotations

import time
from typing import Any

from parpass.diagnostic import Diagnostic, DiagnosticLevel, Span
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    register_pass,
)
from tests.support.toy.ir import Fn, Program


@register_pass("toy.Add")
class Add(FunctionPass):
    """Adds to each number; adding 0 returns the very same function."""

    pass_info = PassInfo(0, "Add")
    cacheable = "1"

    def __init__(self, amount: int = 1) -> None:
        self.amount = amount

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if not self.amount:
            return func
        ctx.count("added", len(func.values))
        return func.with_values(value + self.amount for value in func.values)


class Toil(FunctionPass):
    """Works for a while, then adds 1."""

    pass_info = PassInfo(0, "Toil")

    def __init__(self, seconds: float = 0.0003) -> None:
        self.seconds = seconds

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass
        return func.with_values(value + 1 for value in func.values)


@register_pass("toy.AddFrom")
class AddFrom(FunctionPass):
    """Appends the numbers of another function, as they were before the pass."""

    pass_info = PassInfo(0, "AddFrom")
    cacheable = "1"

    def __init__(self, other: str) -> None:
        self.other = other

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, *mod[self.other].values))


@register_pass("toy.FailOn")
class FailOn(FunctionPass):
    """Raises on functions that have a number."""

    pass_info = PassInfo(0, "FailOn")
    cacheable = "1"

    def __init__(self, number: int, error: type[BaseException] = ValueError) -> None:
        self.number = number
        self.error = error

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if self.number in func.values:
            raise self.error(f"met {self.number}")
        return func


@register_pass("toy.Say")
class Say(FunctionPass):
    """Emits a diagnostic for each number in a function, and adds 1 to it."""

    pass_info = PassInfo(0, "Say")
    cacheable = "1"

    def __init__(self, level: DiagnosticLevel = DiagnosticLevel.WARNING) -> None:
        self.level = level

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert ctx.diag_ctx is not None
        for at, value in enumerate(func.values):
            span = Span("source", 1, 1, at + 1, at + 2)
            ctx.diag_ctx.emit(Diagnostic(self.level, span, f"saw {value}"))
            ctx.remark("analysis", "saw a number", span, value=value)
        return func.with_values(value + 1 for value in func.values)


@register_pass("toy.ReturnWrong")
class ReturnWrong(FunctionPass):
    """Returns something that is no function."""

    pass_info = PassInfo(0, "ReturnWrong")

    def __init__(self, result: Any = None) -> None:
        self.result = result

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Any:
        return self.result


@register_pass("toy.Write")
class Write(FunctionPass):
    """Writes to the module that it is given to read."""

    pass_info = PassInfo(0, "Write")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        mod["new"] = func
        return func


@register_pass("toy.Keep")
class Keep(ModulePass):
    """Returns the module that it is given."""

    pass_info = PassInfo(0, "Keep")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return mod


@register_pass("toy.Duplicate")
class Duplicate(ModulePass):
    """Adds a copy of each function, so function passes see twice as many."""

    pass_info = PassInfo(0, "Duplicate")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        ctx.count("added", len(mod.functions))
        for name in mod.functions:
            ctx.remark("passed", "copied", function=name)
        copies = {f"{name}_copy": fn for name, fn in mod.functions.items()}
        return type(mod)({**mod.functions, **copies}, mod.title, mod.sources)


@register_pass("toy.FailWhole")
class FailWhole(ModulePass):
    """A module pass that raises."""

    pass_info = PassInfo(0, "FailWhole")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        raise ValueError("the module is bad")
