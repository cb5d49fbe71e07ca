"""The check that each variable is bound once, which passes rely on.

InferType checks it, so functions with types satisfy it. A pass may run before that, and
one that identifies values by variables would confuse two bindings.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.analysis.findings import emit_errors
from parpass.relay.expr import Function
from parpass.relay.type_inference.scoping import bound_again
from parpass.transform import FunctionPass, ModulePass, PassContext

PassT = TypeVar("PassT", bound=FunctionPass | ModulePass)


def expects_single_bindings(kind: type[PassT]) -> type[PassT]:
    """Make a class of passes refuse functions without types that bind a variable twice.

    The errors are those of InferType. A function with types is not looked at.
    """
    if issubclass(kind, FunctionPass):
        kind.transform_function = _function_checked(kind.transform_function)
    else:
        kind.transform_module = _module_checked(kind.transform_module)
    return cast("type[PassT]", kind)


def _function_checked(body: Any) -> Any:
    @functools.wraps(body)
    def checked(self: Any, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        return body(self, func, mod, ctx) if _is_sound(func, ctx) else func

    return checked


def _module_checked(body: Any) -> Any:
    @functools.wraps(body)
    def checked(self: Any, mod: IRModule, ctx: PassContext) -> Any:
        sound = [
            _is_sound(function, ctx, name)
            for name, function in mod.functions_by_name.items()
            if isinstance(function, Function)
        ]
        return body(self, mod, ctx) if all(sound) else mod

    return checked


def _is_sound(func: Function, ctx: PassContext, name: str | None = None) -> bool:
    if func.checked_type_ is not None:
        return True
    found = bound_again(func)
    emit_errors(found, ctx, name)
    return not found
