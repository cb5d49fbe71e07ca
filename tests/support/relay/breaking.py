"""Passes that fail, crash, hang or go wrong on functions that call `exp`.

A file to be given for `--load`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

from parpass.instrument import PassInstrument
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.relay.analysis import post_order_visit
from parpass.relay.expr import Call, Expr, Function, const, var
from parpass.relay.functor import ExprMutator
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    function_pass,
    register_pass,
)


def has_exp(func: Function) -> bool:
    """Return whether `exp` is called in a function."""
    found: list[Expr] = []
    post_order_visit(
        func, lambda node: found.append(node) if node is Op.get("exp") else None
    )
    return bool(found)


@register_pass("test.FailOnExp")
class FailOnExp(FunctionPass):
    """Raises."""

    pass_info = PassInfo(0, "FailOnExp")

    def __init__(self, message: str = "no exp") -> None:
        self.message = message

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if has_exp(func):
            raise ValueError(self.message)
        return func


@register_pass("test.InterruptOnExp")
class InterruptOnExp(FunctionPass):
    """Raises; without a `multiply` interrupts the process that started this one, too.

    For processes that tests start.
    """

    pass_info = PassInfo(0, "InterruptOnExp")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if not has_exp(func):
            return func
        if "multiply" not in str(func):
            parent = os.getppid()
            while os.getppid() == parent:  # until it ends this one
                os.kill(parent, signal.SIGINT)
                time.sleep(60)  # it sees one that comes as it begins to wait after that
        raise ValueError("no exp")


@register_pass("test.CrashOnExp")
class CrashOnExp(FunctionPass):
    """Ends its process: by a null pointer, by a signal, or by exiting."""

    pass_info = PassInfo(0, "CrashOnExp")

    def __init__(self, how: str = "segfault") -> None:
        self.how = how

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if not has_exp(func):
            return func
        match self.how:
            case "segfault":
                ctypes.string_at(0)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                os._exit(7)
        return func


@register_pass("test.OverspendOnExp")
class OverspendOnExp(FunctionPass):
    """Hangs in Python, waiting or not, hangs in C, or takes 4 GiB."""

    pass_info = PassInfo(0, "OverspendOnExp")

    def __init__(self, how: str = "hang") -> None:
        self.how = how

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        while has_exp(func):
            match self.how:
                case "hang in C":
                    sum(range(1 << 50))
                case "burn":
                    sum(range(1000))
                case "memory":
                    return func.with_attr("spent", str(len(bytearray(4 << 30))))
                case _:
                    time.sleep(0.001)  # which costs those that wait for it no core
        return func


@register_pass("test.HangOnExp")
class HangOnExp(FunctionPass):
    """Tells by a named pipe that it has begun, and hangs in C."""

    pass_info = PassInfo(0, "HangOnExp")

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if has_exp(func):
            Path(self.pipe).write_text("begun")
            while True:
                ctypes.CDLL(None).pause()
        return func


class _ExpToNowhere(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        return var("nowhere", call.checked_type) if call.op is Op.get("exp") else new


@register_pass("test.UnbindExp")
class UnbindExp(FunctionPass):
    """Puts a variable in the place of `exp` that nothing binds."""

    pass_info = PassInfo(0, "UnbindExp")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return _ExpToNowhere().visit(func)  # pyright: ignore[reportReturnType]


class LambdaError(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("not to be pickled")
        self.code = lambda: None


@register_pass("test.FailUnpicklablyOnExp")
class FailUnpicklablyOnExp(FunctionPass):
    """Raises what stays in its process."""

    pass_info = PassInfo(0, "FailUnpicklablyOnExp")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if has_exp(func):
            raise LambdaError
        return func


class WatchfulInstrument(PassInstrument):
    """Cannot bear to see `exp` after a pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if any(has_exp(func) for func in mod.functions_by_name.values()):
            raise ValueError("there is exp")


class UnregisteredFailure(FunctionPass):
    """Raises, and nobody registered it."""

    pass_info = PassInfo(0, "Unregistered")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        raise ValueError("nobody registered this")


@function_pass(opt_level=0)
def decorated_failure(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Raises."""
    raise ValueError("decorated")


@register_pass("test.FailWholeOnExp")
class FailWholeOnExp(ModulePass):
    """Raises if any function calls `exp`."""

    pass_info = PassInfo(0, "FailWholeOnExp")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if any(has_exp(func) for func in mod.functions_by_name.values()):
            raise ValueError("no exp anywhere")
        return mod


class _ExpPlusOne(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        return new + const(1.0) if call.op is Op.get("exp") else new


@register_pass("test.MiscompileExp")
class MiscompileExp(FunctionPass):
    """Adds one to what `exp` gives."""

    pass_info = PassInfo(0, "MiscompileExp")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return _ExpPlusOne().visit(func)  # pyright: ignore[reportReturnType]


class _Untyped(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        return (
            Call(Op.get("add"), (new, const([1.0, 2.0, 3.0, 4.0])))
            if (call.op is Op.get("exp"))
            else new
        )


@register_pass("test.BreakTypesOfExp")
class BreakTypesOfExp(FunctionPass):
    """Makes a program that has no types, so that InferType fails after it."""

    pass_info = PassInfo(0, "BreakTypesOfExp")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return _Untyped().visit(func)  # pyright: ignore[reportReturnType]


PROGRAM = """\
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = nn.relu(%x);
  %1 = @inner(%0);
  %2 = @other(%x);
  add(%1, %2)
}

def @inner(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  let %two = add(1f, 1f);
  %0 = multiply(%x, %two);
  let %y = tanh(%0);
  %1 = exp(%y);
  %2 = @leaf(%y);
  %3 = add(%1, %2);
  nn.relu(%3)
}

def @leaf(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  sqrt(%x)
}

def @other(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  nn.relu(%x)
}
"""
