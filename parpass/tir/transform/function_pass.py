"""Base classes of passes on PrimFuncs: `PrimFuncPass`, `prim_func_pass`, `Apply`."""

from __future__ import annotations

from collections.abc import Callable

from parpass.ir.module import IRModule
from parpass.tir.function import PrimFunc
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    function_pass,
    register_pass,
)
from parpass.transform.decorators import (
    FunctionPassOfCallable,
    FunctionPassOfClass,
    decorator_like,
)


class PrimFuncPass(FunctionPass):
    """A pass that sees one PrimFunc at a time, so that many can run at once.

    It sees only the PrimFuncs of a module, and no restoring pass follows it.
    """

    function_kind = "tir"


class PrimFuncPassOfCallable(PrimFuncPass, FunctionPassOfCallable):
    """A pass on PrimFuncs whose body is a callable."""


class PrimFuncPassOfClass(PrimFuncPass, FunctionPassOfClass):
    """A pass on PrimFuncs whose body is a method of a user's class."""


prim_func_pass = decorator_like(
    function_pass, "prim_func", PrimFuncPassOfCallable, PrimFuncPassOfClass
)


@register_pass("tir.transform.Apply")
class Apply(PrimFuncPass):
    """Replace each PrimFunc by the result of a function called on it.

    Args:
        ftransform: The function.
    """

    pass_info = PassInfo(0, "Apply")

    def __init__(self, ftransform: Callable[[PrimFunc], PrimFunc]) -> None:
        self.ftransform = ftransform

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return what the function gives."""
        return self.ftransform(func)
