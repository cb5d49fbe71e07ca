"""The global names that code has, and what they stand for."""

from __future__ import annotations

import contextlib
import types
from types import CodeType, FunctionType
from typing import Any

from parpass.fork_safety import forks_wait


class _NeverBound:
    """Stands for the class of lazy imports, which Python has from 3.15 on."""


# What a `lazy` statement (PEP 810) binds a name to until it is first used.
LAZY_IMPORT: type[Any] = getattr(types, "LazyImportType", _NeverBound)


def names_in(code: CodeType) -> list[str]:
    """Return the names of globals and attributes in code and the code in it, sorted."""
    inner = (names_in(one) for one in code.co_consts if isinstance(one, CodeType))
    return sorted(set(code.co_names).union(*inner))


def load_lazy_imports(function: FunctionType) -> bool:
    """Import what a function names and `lazy` statements delay, as its first use does.

    What cannot be imported stays as it is: the error is of its use.

    Returns:
        Whether something was imported.
    """
    variables, found = function.__globals__, False
    for name in names_in(function.__code__):
        value = variables.get(name)
        if type(value) is LAZY_IMPORT:
            # A module may raise any error.
            with contextlib.suppress(Exception), forks_wait():
                variables[name] = value.resolve()
                found = True
    return found


def named_globals(function: FunctionType) -> dict[str, Any]:
    """Return the globals that a function names, with what lazy statements delay."""
    load_lazy_imports(function)
    variables = function.__globals__
    names = names_in(function.__code__)
    return {name: variables[name] for name in names if name in variables}
