"""`module_pass` and `function_pass`: passes from plain functions and classes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from types import CodeType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, cast, overload

from parpass.errors import ArgumentError
from parpass.transform.analysis import Analysis, check_preserved
from parpass.transform.context import PassContext
from parpass.transform.pass_info import PassInfo
from parpass.transform.passes import (
    FunctionPass,
    ModulePass,
    Pass,
    check_cacheable,
    required_names,
)

P = ParamSpec("P")


class ModulePassOfCallable(ModulePass):
    """A module pass whose body is a callable."""

    def __init__(self, pass_func: Callable[..., Any], pass_info: PassInfo) -> None:
        self.pass_func = pass_func
        self.pass_info = pass_info

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        return self.pass_func(mod, ctx)


class FunctionPassOfCallable(FunctionPass):
    """A function pass whose body is a callable."""

    def __init__(self, pass_func: Callable[..., Any], pass_info: PassInfo) -> None:
        self.pass_func = pass_func
        self.pass_info = pass_info

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        return self.pass_func(func, mod, ctx)


class _OfClass(Pass):
    """A pass whose body is a method of the instance of a user's class inside of it.

    Attributes that it has not itself are those of that instance.
    """

    _user_class: type[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Not by attribute access, which falls through to the instance made here.
        self.__dict__["_inst"] = self._user_class(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "_inst":  # while it is being unpickled
            raise AttributeError(attribute)
        return getattr(self._inst, attribute)


class ModulePassOfClass(_OfClass, ModulePass):
    """A module pass whose body is a method of a user's class."""

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        return self._inst.transform_module(mod, ctx)


class FunctionPassOfClass(_OfClass, FunctionPass):
    """A function pass whose body is a method of a user's class."""

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        return self._inst.transform_function(func, mod, ctx)


class _Def(Protocol):
    """An object written with `def` or `lambda`: it has code, which no class has."""

    @property
    def __code__(self) -> CodeType: ...


class _ModuleBody(Protocol):
    def transform_module(self, mod: Any, ctx: Any, /) -> Any: ...


class _FunctionBody(Protocol):
    def transform_function(self, func: Any, mod: Any, ctx: Any, /) -> Any: ...


class _ModuleDecorator(Protocol):
    @overload
    def __call__(
        self, pass_func: _Def | functools.partial[Any], /
    ) -> ModulePassOfCallable: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] -- a class has no code
        self, pass_func: Callable[P, _ModuleBody], /
    ) -> Callable[P, ModulePassOfClass]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] -- nor need others
        self, pass_func: Callable[[Any, PassContext], Any], /
    ) -> ModulePassOfCallable: ...


class _FunctionDecorator(Protocol):
    @overload
    def __call__(
        self, pass_func: _Def | functools.partial[Any], /
    ) -> FunctionPassOfCallable: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] -- a class has no code
        self, pass_func: Callable[P, _FunctionBody], /
    ) -> Callable[P, FunctionPassOfClass]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] -- nor need others
        self, pass_func: Callable[[Any, Any, PassContext], Any], /
    ) -> FunctionPassOfCallable: ...


@overload
def module_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> _ModuleDecorator: ...
@overload
def module_pass(
    pass_func: _Def | functools.partial[Any],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> ModulePassOfCallable: ...
@overload
def module_pass(  # pyright: ignore[reportOverlappingOverload] -- a class has no code
    pass_func: Callable[P, _ModuleBody],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> Callable[P, ModulePassOfClass]: ...
@overload
def module_pass(  # pyright: ignore[reportOverlappingOverload] -- nor need others
    pass_func: Callable[[Any, PassContext], Any],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> ModulePassOfCallable: ...
def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> Any:
    """Make a module pass from a callable `(mod, ctx) -> mod`, or from a class.

    The class must have a method `transform_module(self, mod, ctx)`; it becomes a pass
    class with the same constructor. Without a first argument this is a decorator.

    Args:
        pass_func: The callable (it may be `async`) or the class.
        opt_level: The lowest level at which a `Sequential` runs the pass.
        name: The name; by default that of the callable or class.
        required: Names of passes to run before it.
        preserves: The analyses that stay valid after it; see `analysis`.
        cacheable: Whether a function cache may keep its results, or a version; see
            `Pass`.

    Raises:
        ValueError: `opt_level` is missing.
        ArgumentError: Another argument is of the wrong type.
    """
    form = _Form("module", ModulePassOfCallable, ModulePassOfClass)
    return form.make(pass_func, opt_level, name, required, preserves, cacheable)


@overload
def function_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> _FunctionDecorator: ...
@overload
def function_pass(
    pass_func: _Def | functools.partial[Any],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> FunctionPassOfCallable: ...
@overload
def function_pass(  # pyright: ignore[reportOverlappingOverload] -- a class has no code
    pass_func: Callable[P, _FunctionBody],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> Callable[P, FunctionPassOfClass]: ...
@overload
def function_pass(  # pyright: ignore[reportOverlappingOverload] -- nor need others
    pass_func: Callable[[Any, Any, PassContext], Any],
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> FunctionPassOfCallable: ...
def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    preserves: Collection[Analysis] = (),
    cacheable: bool | str = False,
) -> Any:
    """Make a function pass from a callable `(func, mod, ctx) -> func`, or a class.

    The class must have a method `transform_function(self, func, mod, ctx)`. See
    `module_pass` for the arguments and errors.
    """
    form = _Form("function", FunctionPassOfCallable, FunctionPassOfClass)
    return form.make(pass_func, opt_level, name, required, preserves, cacheable)


DecoratorT = TypeVar("DecoratorT", bound=Callable[..., Any])


def decorator_like(
    decorator: DecoratorT,
    kind: str,
    of_callable: type[FunctionPassOfCallable],
    of_class: type[FunctionPassOfClass],
) -> DecoratorT:
    """Return a decorator like `function_pass` that makes passes of other classes.

    An IR makes one for the passes on its kind of functions. `decorator` is
    `function_pass`, whose signature it gets; `kind` is the word before `_pass` in its
    name.
    """
    form = _Form(kind, of_callable, of_class)

    @functools.wraps(decorator)
    def decorate(*args: Any, **options: Any) -> Any:
        return form.make(*args, **options)

    decorate.__name__ = decorate.__qualname__ = f"{kind}_pass"
    return cast("DecoratorT", decorate)


class _Form(NamedTuple):
    """The classes of the passes that a decorator makes; `kind` begins its name."""

    kind: str
    of_callable: type[ModulePassOfCallable | FunctionPassOfCallable]
    of_class: type[_OfClass]

    def make(
        self,
        pass_func: Any = None,
        opt_level: int | None = None,
        name: str | None = None,
        required: Sequence[str] | None = None,
        preserves: Collection[Analysis] = (),
        cacheable: bool | str = False,
    ) -> Any:
        """Return a pass, a pass class, or a decorator if there is no `pass_func`."""
        kind = self.kind
        if opt_level is None:
            raise ValueError(
                f"please provide opt_level for the {kind} pass: write "
                f"@{kind}_pass(opt_level=...)"
            )
        needs = required_names(required, name or f"of @{kind}_pass") if required else ()

        def make(pass_arg: Any) -> Any:
            info = PassInfo(opt_level, name or pass_arg.__name__, needs)
            if preserves:
                functionwise = self.of_callable.is_functionwise
                check_preserved(preserves, info.name, functionwise=functionwise)
            check_cacheable(cacheable, info.name)
            if inspect.isclass(pass_arg):
                user_class = cast("type[Any]", pass_arg)
                return _class_form(
                    user_class, info, tuple(preserves), cacheable, self.of_class
                )
            if not callable(pass_arg):
                raise ArgumentError(
                    f"expected a callable or a class for {kind} pass '{info.name}', "
                    f"got {pass_arg!r}"
                )
            made = self.of_callable(pass_arg, info)
            if preserves:
                made.preserves = tuple(preserves)
            if cacheable:
                made.cacheable = cacheable
            return made

        return make if pass_func is None else make(pass_func)


def _class_form(
    user_class: type[Any],
    info: PassInfo,
    preserves: tuple[Analysis, ...],
    cacheable: bool | str,
    of_class: type[_OfClass],
) -> type[_OfClass]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 -- a method
        of_class.__init__(self, *args, **kwargs)

    # `inspect.signature` gives the options that it takes.
    functools.update_wrapper(__init__, user_class.__init__)
    members = {
        "__init__": __init__,
        "__doc__": user_class.__doc__,
        "__module__": user_class.__module__,
        "__qualname__": user_class.__qualname__,
        "pass_info": info,
        "preserves": preserves or getattr(user_class, "preserves", ()),
        "cacheable": cacheable or vars(user_class).get("cacheable", False),
        "_user_class": user_class,
    }
    for name in ("cost_follows_size", "function_kind"):
        if hasattr(user_class, name):
            members[name] = getattr(user_class, name)
    return type(user_class.__name__, (of_class,), members)
