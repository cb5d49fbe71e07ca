"""Names of a package that load when one of them is first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from parpass.errors.missing_names import no_attribute


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    *,
    rooms: Mapping[str, str] | None = None,
    rest: str = "",
    before: Callable[[], None] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        package: Its name.
        homes: The module that has a name, by name.
        rooms: Names that are modules themselves.
        rest: A module all of whose public names are the package's, too.
        before: What is called before a name is looked up in its home.
    """
    modules = rooms or {}

    def home_of(name: str) -> str:
        if name in homes:
            return homes[name]
        is_asked_of_rest = rest and (name == "__all__" or not name.startswith("_"))
        if is_asked_of_rest and name in ("__all__", *_all_of(rest)):
            return rest
        raise no_attribute(package, name)

    def __getattr__(name: str) -> Any:  # noqa: N807 -- what it is for
        if name in modules:
            return importlib.import_module(modules[name])
        home = home_of(name)
        if before is not None:
            before()
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)  # asked for once
        return value

    def __dir__() -> list[str]:  # noqa: N807 -- likewise
        there = vars(sys.modules[package]).get("__all__", ())
        return sorted({*there, *homes, *modules, *(_all_of(rest) if rest else ())})

    return __getattr__, __dir__


def _all_of(module: str) -> list[str]:
    return importlib.import_module(module).__all__
