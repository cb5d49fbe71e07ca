"""Attributes of a package that are imported when they are first accessed (PEP 562).

As scientific-python's `lazy_loader.attach`, with imports that a fork waits for.

From Python 3.15 on a package can say `lazy from module import name` (PEP 810). Once
that is the oldest Python, such statements take the place of `attributes`; what stays
here is what they cannot do: hints, the names of another module, and that a fork waits.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from parpass.fork_safety import forks_wait


def load_module(name: str) -> Any:
    """Import a module by its name, and return it; a fork waits meanwhile."""
    with forks_wait():
        return importlib.import_module(name)


def attach_lazy(
    package: str,
    attributes: Mapping[str, str],
    *,
    submodules: Mapping[str, str] | None = None,
    reexport_from: str = "",
    before_lookup: Callable[[], None] | None = None,
    hints: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that loads names on demand.

    Args:
        package: The name of the package.
        attributes: The defining module of each attribute.
        submodules: Attributes that are modules: their full names.
        reexport_from: A module whose public names are attributes of the package, too.
        before_lookup: Called before an attribute is taken from its module.
        hints: For absent names that users may expect, the replacement to suggest.
            Accessing such a name raises ImportError, since `from package import name`
            drops the message of an AttributeError.
    """
    modules = submodules or {}

    def defining_module(name: str) -> str:
        if name in attributes:
            return attributes[name]
        if hints and name in hints:
            message = f"module '{package}' has no attribute '{name}'; {hints[name]}"
            raise ImportError(message, name=package)
        may_be_reexported = reexport_from and (
            name == "__all__" or not name.startswith("_")
        )
        if may_be_reexported and name in ("__all__", *_all_of(reexport_from)):
            return reexport_from
        raise AttributeError(
            f"module '{package}' has no attribute '{name}'",
            name=name,
            obj=sys.modules.get(package),  # Python suggests its nearest attribute
        )

    def __getattr__(name: str) -> Any:  # noqa: N807 -- the hook's name in PEP 562
        if name in modules:
            return load_module(modules[name])
        module = defining_module(name)
        if before_lookup is not None:
            before_lookup()
        value = getattr(load_module(module), name)
        setattr(sys.modules[package], name, value)  # later accesses do not come here
        return value

    def __dir__() -> list[str]:  # noqa: N807 -- the hook's name in PEP 562
        own = vars(sys.modules[package]).get("__all__", ())
        reexported = _all_of(reexport_from) if reexport_from else ()
        return sorted({*own, *attributes, *modules, *reexported})

    return __getattr__, __dir__


def defining_modules(names: Mapping[str, str]) -> dict[str, str]:
    """Return the defining module of each name, the first argument of `attach_lazy`.

    `names` are those that each module of parpass defines, separated by spaces.
    """
    return {
        name: f"parpass.{module}"
        for module, words in names.items()
        for name in words.split()
    }


def _all_of(module: str) -> list[str]:
    return load_module(module).__all__
