"""The global function registry, and PackedFunc: callables under names.

Every pass is here under its key, such as `relay._transform.NAME`, and what a user
registers is found in the same way: by `get_global_func`, in `required`, in pipeline
text.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, cast, overload, runtime_checkable

from parpass.errors import ArgumentError, UnknownFunctionError
from parpass.lazy_loader import load_module
from parpass.replicated_tables import ReplicatedTable

_functions: ReplicatedTable[str, PackedFunc] = ReplicatedTable("function")
DECLARED: ReplicatedTable[str, None] = ReplicatedTable("module of functions")


@runtime_checkable
class Object(Protocol):
    """An object of the compiler, such as a node or a pass: TVM's `Object`."""

    def same_as(self, other: object) -> bool: ...


class PackedFunc:
    """A callable as a value that can be registered, passed around and called.

    Callables among its arguments arrive as PackedFuncs, and a callable that it returns
    becomes one; other values pass through unchanged.

    Args:
        body: The callable.
    """

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body
        functools.update_wrapper(self, body, updated=())

    def __call__(self, *args: Any, **options: Any) -> Any:
        packed = {name: _packed(value) for name, value in options.items()}
        return _packed(self.body(*map(_packed, args), **packed))

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedFunc, (self.body,)

    def __repr__(self) -> str:
        return f"PackedFunc({self.body!r})"


def convert(value: Any) -> Any:
    """Convert a callable to a PackedFunc and a list to a tuple; keep other values.

    Nodes and passes stay unchanged, although they can be called. A stand-in for a node,
    such as `x == 1` on loop expressions, becomes the node.
    """
    if isinstance(value, list | tuple):
        return tuple(map(convert, cast("Sequence[Any]", value)))
    if hasattr(value, "asobject") and not isinstance(value, Object):
        return value.asobject()
    return _packed(value)


def _packed(value: Any) -> Any:
    if isinstance(value, type) or (callable(value) and not isinstance(value, Object)):
        return PackedFunc(value)
    return value


@overload
def register_func(
    func_name: str, f: None = None, override: bool = False
) -> Callable[[Callable[..., Any]], PackedFunc]: ...
@overload
def register_func(
    func_name: str, f: Callable[..., Any], override: bool = False
) -> PackedFunc: ...
@overload
def register_func(func_name: Callable[..., Any]) -> PackedFunc: ...
def register_func(
    func_name: str | Callable[..., Any],
    f: Callable[..., Any] | None = None,
    override: bool = False,
) -> Any:
    """Register a callable under a name, and return it as a PackedFunc.

    Without a callable this is a decorator. Without a name, too, it uses the callable's
    own name.

    Args:
        func_name: The name.
        f: The callable.
        override: Whether to replace a function that is registered under that name.

    Raises:
        ArgumentError: The name is taken, or an argument is of the wrong type.
    """
    if callable(func_name):
        return _enter(func_name.__name__, func_name, override=override)
    if f is not None:
        return _enter(func_name, f, override=override)

    def register(given: Callable[..., Any]) -> PackedFunc:
        return _enter(func_name, given, override=override)

    return register


def _enter(name: object, function: object, *, override: bool) -> PackedFunc:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"expected a name for a function, got {name!r}")
    if not callable(function):
        raise ArgumentError(f"expected a callable for '{name}', got {function!r}")
    if _functions.is_defined_here(name) and not override:
        raise ArgumentError(f"a function is registered as '{name}' already")
    packed = function if isinstance(function, PackedFunc) else PackedFunc(function)
    _functions[name] = packed
    return packed


@overload
def get_global_func(name: str, allow_missing: Literal[False] = False) -> PackedFunc: ...
@overload
def get_global_func(name: str, allow_missing: bool) -> PackedFunc | None: ...
def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """Return the function that is registered under a name.

    Args:
        name: The name.
        allow_missing: Whether to return None if there is none.

    Raises:
        UnknownFunctionError: There is none; the message suggests the nearest names.
    """
    import_declared()
    found = _functions.find(name)
    if found is None and not allow_missing:
        raise UnknownFunctionError(name, _functions)
    return found


def list_global_func_names() -> list[str]:
    """Return the names of all registered functions, sorted."""
    return global_func_names(lambda _: True)


def global_func_names(
    is_wanted: Callable[[str], bool], *, declared: bool = True
) -> list[str]:
    """Return the names of registered functions, sorted.

    By default the modules with declared functions are imported first.
    """
    if declared:
        import_declared()
    names = [one for one in _functions.missing if isinstance(one, str)]
    _functions.load_missing(*filter(is_wanted, names))
    return sorted(filter(is_wanted, tuple(_functions)))


def known_func(name: str) -> PackedFunc | None:
    """Return a registered function, None if there is none; nothing is imported."""
    return _functions.get(name)


def remove_global_func(name: str) -> None:
    """Remove a function; a no-op if the name is not registered."""
    with contextlib.suppress(KeyError):
        del _functions[name]


def declare_functions(module_name: str) -> None:
    """Name a Python module that registers functions when it is imported.

    That happens when a function is first looked up, so an IR may declare its passes
    early and still load them late.
    """
    DECLARED[module_name] = None


def import_declared() -> None:
    for name in tuple(DECLARED):
        load_module(name)
