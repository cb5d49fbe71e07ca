"""Relay passes that change types of functions, or see that those of others changed."""

from __future__ import annotations

import os
from pathlib import Path

from parpass import IRModule, PassContext, relay
from parpass.ir.module import stated_type
from parpass.ir.op.op_table import Op
from parpass.transform import FunctionPass, PassInfo
from tests.support.toy.ending import end


class ToInt(FunctionPass):
    """Casts the results of the functions of some names, and so changes their types."""

    def __init__(self, *names: str) -> None:
        self.pass_info = PassInfo(0, "ToInt")
        self.names = names

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name not in self.names:
            return func
        return relay.Function(func.params, relay.op.cast(func.body, "int32"))


class Swap(FunctionPass):
    """Keeps all types."""

    pass_info = PassInfo(0, "Swap")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        class Swapper(relay.ExprMutator):
            def visit_call(self, call: relay.Call) -> relay.Expr:
                new = super().visit_call(call)
                if isinstance(new, relay.Call) and new.op is Op.get("abs"):
                    return relay.Call(Op.get("negative"), new.args)
                return new

        return Swapper().visit(func)  # pyright: ignore[reportReturnType]


class NoteRuns(FunctionPass):
    """Takes down, in a file for each process, on which functions it is run."""

    pass_info = PassInfo(0, "NoteRuns")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        with (self.folder / str(os.getpid())).open("a") as file:
            file.write(f"{ctx.function_name}\n")
        return func


class HangOnInt(FunctionPass):
    """Hangs on `main` when `f1`, which that calls, is said to give integers."""

    pass_info = PassInfo(0, "HangOnInt")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name == "main":
            stated = stated_type(mod.functions_by_name, "f1")
            if "int32" in str(stated):
                end("hang")
        return func
