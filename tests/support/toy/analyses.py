"""Analyses of the toy IR, and passes that ask for them, preserve some, and lie."""

from __future__ import annotations

import logging
import uuid
import warnings

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo, analysis
from tests.support.toy.ir import Fn, Program

_FEW = 8  # numbers, beyond which passes append no more


@analysis
def odd(func: Fn, ctx: PassContext) -> int:
    """Return how many numbers are odd."""
    return sum(value % 2 for value in func.values)


@analysis
def total(func: Fn, ctx: PassContext) -> int:
    """Return the sum; it asks for another analysis, and fails on some functions."""
    if 4 in func.values:
        raise ValueError(f"a four, and {ctx.get_analysis(odd, func)} odd")
    return sum(func.values)


@analysis
def talking(func: Fn, ctx: PassContext) -> int:
    """Return the length, and do all that is seen of a pass besides its result."""
    ctx.count("talked")
    ctx.remark("analysis", "talked", length=len(func.values))
    if 3 in func.values:
        warnings.warn(f"{len(func.values)} numbers", UserWarning, stacklevel=1)
    logging.getLogger("toy").warning("talked of %s", func)
    assert ctx.diag_ctx is not None
    ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel.NOTE, None, "talked"))
    return len(func.values)


@analysis
def stamp(func: Fn, ctx: PassContext) -> int:
    """Return a number that is new each time."""
    return uuid.uuid4().int


@analysis(of="module")
def largest(mod: Program, ctx: PassContext) -> int:
    """Return the largest number of all functions."""
    return max(
        (value for fn in mod.functions.values() for value in fn.values), default=0
    )


class Ask(FunctionPass):
    """Asks for all analyses, and appends to short functions what they give."""

    pass_info = PassInfo(0, "Ask")

    def __init__(self, appends: bool = True) -> None:
        self.appends = appends

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        found = [ctx.get_analysis(one, func) for one in (odd, talking)]
        found.append(ctx.get_analysis(largest, mod))
        ctx.remark("analysis", "asked", values=str(found))
        if not self.appends or len(func.values) > _FEW:
            return func
        return func.with_values((*func.values, *found))


class AskTotal(FunctionPass):
    """Counts the sum, and fails where there is none."""

    pass_info = PassInfo(0, "AskTotal")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.count("sum", ctx.get_analysis(total, func))
        ctx.count("sum", ctx.get_analysis(total, func))
        return func


class AddTwo(FunctionPass):
    """Adds an even number to each, so that it preserves how many are odd."""

    pass_info = PassInfo(0, "AddTwo")
    preserves = (odd,)

    def __init__(self, amount: int = 2) -> None:
        self.amount = amount

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.count("odd", ctx.get_analysis(odd, func))
        return func.with_values(value + self.amount for value in func.values)


class AskWhole(ModulePass):
    """Asks for analyses of the module and of its functions, and drops the last."""

    pass_info = PassInfo(0, "AskWhole")
    preserves = (odd,)

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        ctx.count("largest", ctx.get_analysis(largest, mod))
        for name, function in mod.functions.items():
            ctx.remark(
                "analysis", "asked", function=name, odd=ctx.get_analysis(odd, function)
            )
        kept = dict(list(mod.functions.items())[:-1]) or mod.functions
        return type(mod)(kept, mod.title, mod.sources)


class AppendStamp(FunctionPass):
    """Appends the number that is new each time, which it says to preserve."""

    pass_info = PassInfo(0, "AppendStamp")
    preserves = (stamp,)

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, ctx.get_analysis(stamp, func)))


@analysis
def level(func: Fn, ctx: PassContext) -> int:
    """Return a setting."""
    return ctx.opt_level


class AskOtherwise(FunctionPass):
    """Asks under its own settings and under others, and twice for what talks."""

    pass_info = PassInfo(0, "AskOtherwise")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        found = [ctx.get_analysis(level, func)]
        with PassContext(opt_level=7) as inner:
            found.append(inner.get_analysis(level, func))
        found += [ctx.get_analysis(talking, func), ctx.get_analysis(talking, func)]
        return func.with_values((*func.values, *found))


class ChangeInPlace(ModulePass):
    """Asks for the largest number, and changes a function of the module in place."""

    pass_info = PassInfo(0, "ChangeInPlace")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        ctx.count("largest", ctx.get_analysis(largest, mod))
        mod["f0"] = Fn((ctx.get_analysis(largest, mod) + 20,))
        ctx.count("largest", ctx.get_analysis(largest, mod))
        return mod
