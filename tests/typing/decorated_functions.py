"""What type checkers make of decorated functions: passes."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

import functools
from typing import assert_type

import parpass
from parpass import IRModule, PassContext, PassInfo, Sequential
from parpass.relay import Function
from parpass.transform.decorators import FunctionPassOfCallable, ModulePassOfCallable


@parpass.module_pass(opt_level=1)
def whole(mod: IRModule, ctx: PassContext) -> IRModule:
    return mod


@parpass.module_pass(opt_level=1, name="Later", required=["InferType"])
async def later(mod: IRModule, ctx: PassContext) -> IRModule:
    return mod


@parpass.function_pass(opt_level=1)
def single(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    return func


assert_type(whole, ModulePassOfCallable)
assert_type(later, ModulePassOfCallable)
assert_type(single, FunctionPassOfCallable)
assert_type(whole.info, PassInfo)
assert_type(Sequential([whole, later, single])(IRModule()), IRModule)


def times(factor: int, func: Function, mod: IRModule, ctx: PassContext) -> Function:
    return func


three = functools.partial(times, 3)
assert_type(
    parpass.function_pass(three, opt_level=1, name="Three"), FunctionPassOfCallable
)


class Callable:
    def __call__(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod


assert_type(parpass.module_pass(Callable(), 1, "Callable"), ModulePassOfCallable)


class Renamed:
    """Is decorated by a call, which all type checkers see."""

    def __init__(self, old: str, *, new: str = "x") -> None:
        self.old = old

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod


Rename = parpass.module_pass(Renamed, opt_level=1)
Sequential([Rename("main", new="f")])
