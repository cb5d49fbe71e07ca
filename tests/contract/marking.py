"""Small Relay modules, and passes that leave a mark on the functions they ran on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo

Run = Callable[[Any, Any], Any]


def identity(name: str = "x", **attrs: Any) -> Function:
    """Return a function that gives its parameter back."""
    x = relay.var(name, shape=(2,))
    return Function((x,), x, attrs=attrs or None)


def module(*names: str, **functions: Function) -> IRModule:
    """Return a module of identity functions, `main` alone if none is named."""
    named = {name: identity() for name in names}
    return IRModule({**named, **functions} or {"main": identity()})


def marks(mod: IRModule, name: str = "main") -> str:
    """Return the marks on a function, in order, separated by blanks."""
    function: Function = mod[name]
    return str((function.attrs or {}).get("marks", ""))


def marked(func: Function, mark: str) -> Function:
    """Return a function with one mark more."""
    old = str((func.attrs or {}).get("marks", ""))
    return func.with_attr("marks", f"{old} {mark}".strip())


class Mark(FunctionPass):
    """A function pass that marks each function with its own name."""

    def __init__(
        self, name: str = "Mark", opt_level: int = 0, required: Sequence[str] = ()
    ) -> None:
        self.pass_info = PassInfo(opt_level, name, required)

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return marked(func, self.info.name)


class MarkAll(ModulePass):
    """A module pass that marks each function with its own name."""

    def __init__(
        self, name: str = "MarkAll", opt_level: int = 0, required: Sequence[str] = ()
    ) -> None:
        self.pass_info = PassInfo(opt_level, name, required)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return IRModule(
            {var: marked(func, self.info.name) for var, func in mod.functions.items()}
        )


class Observe(FunctionPass):
    """A function pass that takes down, as marks, what it sees.

    Args:
        look: Called with function, module and context; its result, as text, is the
            mark.
    """

    def __init__(self, look: Callable[[Function, IRModule, PassContext], Any]) -> None:
        self.look = look
        self.pass_info = PassInfo(0, "Observe")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return marked(func, str(self.look(func, mod, ctx)))


class Raise(FunctionPass):
    """A function pass that raises."""

    def __init__(self, error: Exception, only: str | None = None) -> None:
        self.error = error
        self.only = only
        self.pass_info = PassInfo(0, "Raise")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if self.only in (None, ctx.function_name):
            raise self.error
        return func


class RaiseAll(ModulePass):
    """A module pass that raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.pass_info = PassInfo(0, "RaiseAll")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        raise self.error
