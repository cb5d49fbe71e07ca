"""A foreign IR whose restoring pass is made by a decorator, as its other passes are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parpass.transform import (
    Pass,
    PassContext,
    ProgramSlice,
    function_pass,
    register_adapter,
)
from tests.support.toy.ir import Fn, Program, ToyAdapter


class RestoredProgram(Program):
    """A module whose functions are restored after each function pass."""


@function_pass(opt_level=0)
def restore(func: Fn, mod: Any, ctx: PassContext) -> Fn:
    return func if func.checked else replace(func, checked=True)


@function_pass(opt_level=0)
def fail_on_three(func: Fn, mod: Any, ctx: PassContext) -> Fn:
    if func.values == (3,):
        raise ValueError("three")
    return func


class _RestoredAdapter(ToyAdapter):
    def restoring_pass(self, kind: str) -> Pass | None:
        return restore

    def program_slice(self, mod: Program, function: str | None) -> ProgramSlice:
        return ProgramSlice(super().program_slice(mod, function).text, True)


register_adapter(RestoredProgram, _RestoredAdapter())
