"""Passes on the toy IR that take memory, and that look at what measures it."""

from __future__ import annotations

import tracemalloc

import trio

from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

MEGABYTE = 1_000_000
SLACK = 200_000  # bytes that a pass may take besides


class Take(FunctionPass):
    """Takes as many megabytes as the first number says, and gives them back."""

    pass_info = PassInfo(0, "Take")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        taken = bytes(func.values[0] * MEGABYTE)
        del taken
        return func.with_values((*func.values, 0))


class TakeTwice(ModulePass):
    """Takes two megabytes itself, and then has Take take some on each function."""

    pass_info = PassInfo(0, "TakeTwice")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        taken = bytes(2 * MEGABYTE)
        mod = Take()(mod)
        del taken
        return mod


class IsTracing(FunctionPass):
    """Appends whether tracemalloc runs in this process."""

    pass_info = PassInfo(0, "IsTracing")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values((*func.values, tracemalloc.is_tracing()))


class TakeLater(ModulePass):
    """Takes three megabytes over a wait on the event loop."""

    pass_info = PassInfo(0, "TakeLater")

    async def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        taken = bytes(3 * MEGABYTE)
        await trio.lowlevel.checkpoint()
        del taken
        return mod
