"""The names in code, and the values that they stand for."""

from __future__ import annotations

import contextlib
import itertools
import sys
import types
from collections.abc import Collection, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from parpass.fork_safety import forks_wait
from parpass.lazy_loader import load_module


class _NeverBound:
    """Stands for the class of lazy imports, which Python has from 3.15 on."""


# What a `lazy` statement (PEP 810) binds a name to until it is first used.
LAZY_IMPORT: type[Any] = getattr(types, "LazyImportType", _NeverBound)


def names_in(code: CodeType) -> list[str]:
    """Return the names of globals and attributes in code and the code in it, sorted."""
    inner = (names_in(one) for one in code.co_consts if isinstance(one, CodeType))
    return sorted(set(code.co_names).union(*inner))


def load_lazy_imports(function: FunctionType) -> bool:
    """Import the names of a function that `lazy` statements delay, as their use does.

    A name that cannot be imported stays lazy, and fails when it is used.

    Returns:
        Whether something was imported.
    """
    variables, names = function.__globals__, names_in(function.__code__)
    known = [name for name in names if name in variables]
    loaded = 0
    for name in known:
        if type(variables[name]) is LAZY_IMPORT:
            # A module may raise any error.
            with contextlib.suppress(Exception), forks_wait():
                variables[name] = variables[name].resolve()
                loaded += 1
    # Of `lazy import a.b` that is `a` alone: `a.b` is imported by its use.
    for module in _used_submodules([variables[name] for name in known], names):
        with contextlib.suppress(Exception):
            load_module(module)
            loaded += 1
    return loaded > 0


def _used_submodules(values: Sequence[Any], names: Sequence[str]) -> set[str]:
    """Return the submodules of modules that lazy statements and code name."""
    found: set[str] = set()
    roots = {one.__name__ for one in values if isinstance(one, ModuleType)}
    lazy: Collection[str] = getattr(sys, "lazy_modules", ())
    for module in list(lazy):
        parts = module.split(".")
        for at in range(1, len(parts)):
            if ".".join(parts[:at]) in roots:
                used = itertools.takewhile(names.__contains__, parts[at:])
                found.add(".".join([*parts[:at], *used]))
    return found - sys.modules.keys()


def named_submodules(function: FunctionType) -> list[ModuleType]:
    """Return the submodules that a function names as attributes of modules that it has.

    A process that imports the packages alone does not have them.
    """
    names, variables = names_in(function.__code__), function.__globals__
    waiting = [variables[name] for name in names if name in variables]
    waiting += [*closure_of(function).values(), *(function.__defaults__ or ())]
    waiting += (function.__kwdefaults__ or {}).values()
    reached: dict[str, ModuleType] = {}
    while waiting:
        one = waiting.pop()
        # Not `isinstance`, as an object may claim to be of another class.
        is_module = issubclass(cast("type[Any]", type(one)), ModuleType)
        if is_module and one.__name__ not in reached:
            reached[one.__name__] = one
            waiting += [vars(one)[name] for name in names if name in vars(one)]
    modules = sys.modules
    return [
        one for name, one in reached.items() if "." in name and modules.get(name) is one
    ]


def closure_of(function: FunctionType) -> dict[str, Any]:
    """Return the variables around a function, but for those without a value."""
    found: dict[str, Any] = {}
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # it has no value yet
            found[name] = cell.cell_contents
    return found


def named_globals(function: FunctionType) -> dict[str, Any]:
    """Return the globals that a function names; lazy ones are imported."""
    load_lazy_imports(function)
    variables = function.__globals__
    names = names_in(function.__code__)
    return {name: variables[name] for name in names if name in variables}
