"""The loaded modules of the program, which are known by the place of their files.

All others are of the standard library, of what is installed, or of parpass.
"""

from __future__ import annotations

import contextlib
import functools
import os
import site
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def is_of_program(module: str | None) -> bool:
    """Return whether a module is of the program; one that is not known is.

    So is `__main__`: that of the process that runs the pipeline, whatever it is here.
    """
    name = module or ""
    return name == "__main__" or _is_of_program(name, sys.modules.get(name))


def program_modules() -> dict[str, ModuleType]:
    """Return the modules of the program that are loaded, by name, sorted."""
    found = {
        name: module
        for name, module in list[tuple[str, Any]](sys.modules.items())
        if isinstance(module, ModuleType) and _is_of_program(name, module)
    }
    return dict(sorted(found.items()))


def _is_of_program(name: str, module: Any) -> bool:
    variables: dict[str, Any] = getattr(module, "__dict__", {})
    # Before its file: in a program that PyInstaller made, that is in its own folder.
    if getattr(variables.get("__spec__"), "origin", None) in ("built-in", "frozen"):
        return False
    file = variables.get("__file__")
    if not isinstance(file, str):
        # An extension makes modules without files in its package.
        package = name.rpartition(".")[0]
        return not package or is_of_program(package)
    return not (is_library_file(file) or file.startswith(parpass_folder()))


@functools.lru_cache(1 << 14)
def is_library_file(file: str) -> bool:
    """Return whether a file is of the standard library, or of what is installed."""
    return os.path.abspath(file).startswith(library_folders())


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of the standard library and of what is installed."""
    import sysconfig  # late: `parpass` is loaded without

    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages()]
    both = {*paths, *map(os.path.realpath, paths)}
    return tuple(sorted(os.path.join(path, "") for path in both))


@functools.cache
def parpass_folder() -> str:
    return os.path.join(sys.modules["parpass"].__path__[0], "")


# By name: the spec of a module, the search path, and whether it is found.
_found: dict[str, tuple[ModuleSpec, list[str], bool]] = {}


def is_found_by_name(name: str) -> bool:
    """Return whether a new process imports a loaded module by its name from its file.

    Not the main script, a module that was loaded by its path, or was made at run time.
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if spec is None or name == "__main__":
        return False
    known = _found.get(name)
    if known is None or known[0] is not spec or known[1] != sys.path:
        known = _found[name] = spec, list(sys.path), _is_found(name, module)
    return known[2]


def _is_found(name: str, module: Any) -> bool:
    path, found = getattr(module, "__file__", None), _find_anew(name)
    if found is None or path is None:  # without a file: a namespace, or built in
        return found is not None and found.origin == module.__spec__.origin
    if found.origin is None:
        return False
    with contextlib.suppress(OSError):
        return found.origin == path or os.path.samefile(found.origin, path)
    return False


def _find_anew(name: str) -> ModuleSpec | None:
    """Return the spec of a module as a process finds it that has not loaded it."""
    parent, _, _ = name.rpartition(".")
    path: list[str] | None = None
    if parent:
        # A package may have added folders as it was loaded.
        package = _find_anew(parent)
        path = [*((package and package.submodule_search_locations) or ())]
        path += getattr(sys.modules.get(parent), "__path__", ())
    # What a finder gives that looks among the loaded modules, as one of xDSL's does.
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(name, path)
        except Exception:  # noqa: BLE001 -- a finder of the program may raise any
            continue
        if found is not None and found is not loaded:
            return found
    return None
