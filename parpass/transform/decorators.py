"""`module_pass` and `function_pass`: passes from plain functions and classes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from parpass.errors import ArgumentError
from parpass.transform.context import PassContext
from parpass.transform.info import PassInfo
from parpass.transform.passes import FunctionPass, ModulePass, Pass, required_names


class _CallableModulePass(ModulePass):
    """A module pass whose body is a callable."""

    def __init__(self, pass_func: Callable[..., Any], pass_info: PassInfo) -> None:
        self.pass_func = pass_func
        self.pass_info = pass_info

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        return self.pass_func(mod, ctx)


class _CallableFunctionPass(FunctionPass):
    """A function pass whose body is a callable."""

    def __init__(self, pass_func: Callable[..., Any], pass_info: PassInfo) -> None:
        self.pass_func = pass_func
        self.pass_info = pass_info

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        return self.pass_func(func, mod, ctx)


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a module pass from a callable `(mod, ctx) -> mod`, or from a class.

    A class has a method `transform_module(self, mod, ctx)` and gives a class of passes
    with the same constructor. Without a first argument this is a decorator.

    Args:
        pass_func: The callable (it may be `async`) or the class.
        opt_level: The level from which on a `Sequential` runs the pass.
        name: The name; by default that of the callable or class.
        required: Names of passes to run before it.

    Raises:
        ValueError: `opt_level` is missing.
        ArgumentError: Another argument is of the wrong kind.
    """
    return _make(
        pass_func, opt_level, name, required, "module", ModulePass, _CallableModulePass
    )


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a function pass from a callable `(func, mod, ctx) -> func`, or a class.

    A class has a method `transform_function(self, func, mod, ctx)`. See `module_pass`
    for the arguments and errors.
    """
    return _make(
        pass_func,
        opt_level,
        name,
        required,
        "function",
        FunctionPass,
        _CallableFunctionPass,
    )


def _make(
    pass_func: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    kind: str,
    base: type[Pass],
    from_callable: Callable[[Callable[..., Any], PassInfo], Pass],
) -> Any:
    if opt_level is None:
        raise ValueError(f"please provide opt_level for the {kind} pass")
    needs = required_names(required, name or f"of @{kind}_pass") if required else ()

    def make(pass_arg: Any) -> Any:
        info = PassInfo(opt_level, name or pass_arg.__name__, needs)
        if inspect.isclass(pass_arg):
            return _class_form(cast("type[Any]", pass_arg), info, base, kind)
        if not callable(pass_arg):
            raise ArgumentError(
                f"expected a callable or a class for {kind} pass '{info.name}', got "
                f"{pass_arg!r}"
            )
        return from_callable(pass_arg, info)

    return make if pass_func is None else make(pass_func)


def _class_form(
    user_class: type[Any], info: PassInfo, base: type[Pass], kind: str
) -> type[Pass]:
    method = f"transform_{kind}"

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 -- a method
        # Not by attribute access, which falls through to the instance made here.
        self.__dict__["_inst"] = user_class(*args, **kwargs)

    def __getattr__(self: Any, attribute: str) -> Any:  # noqa: N807 -- a method
        if attribute == "_inst":  # while it is being unpickled
            raise AttributeError(attribute)
        return getattr(self._inst, attribute)

    def body(self: Any, *args: Any) -> Any:
        return getattr(self._inst, method)(*args)

    functools.update_wrapper(__init__, user_class.__init__)
    members = {
        "__init__": __init__,
        "__getattr__": __getattr__,
        "__doc__": user_class.__doc__,
        "__module__": user_class.__module__,
        "__qualname__": user_class.__qualname__,
        "pass_info": info,
        method: body,
    }
    return type(user_class.__name__, (base,), members)
