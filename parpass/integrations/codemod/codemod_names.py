"""Codemods by name, as the command and programs give them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from parpass.errors import ParpassError
from parpass.integrations.codemod.codemod_pass import is_codemod, not_a_codemod
from parpass.spi import did_you_mean

SHIPPED = "libcst.codemod.commands"  # whose codemods need not be named in full


class CodemodNameError(ParpassError, LookupError):
    """A codemod does not exist, or cannot be loaded."""


def find_codemod(name: str) -> Any:
    """Return the codemod of a name.

    Args:
        name: `package.module.Name`, `module:Name` or `FILE.py:Name`. The module may be
            one of LibCST's own, by its short name: `rename.RenameCommand`. You may omit
            the name if the module has a single codemod.

    Raises:
        CodemodNameError: It does not exist, is not a codemod, its module cannot be
            imported, or a package is missing.
    """
    _load_libcst(name)
    place, name_in_it = _parts(name)
    if place.endswith(".py"):
        return _member(_module_of_file(Path(place)), name_in_it, name)
    for prefix in ("", f"{SHIPPED}."):
        module = _import(prefix + place, name)
        if module is not None:
            return _member(module, name_in_it, name)
    near = did_you_mean(name, shipped_codemods())
    expected = (
        "; expected MODULE.NAME of a module that can be imported from here, "
        "FILE.py:NAME, or one of LibCST's own, by MODULE.NAME"
    )
    raise CodemodNameError(f"there is no codemod '{name}'{near or expected}")


def shipped_codemods() -> dict[str, str]:
    """Return the names of LibCST's own codemods, each with what it does.

    Raises:
        CodemodNameError: LibCST is not installed.
    """
    _load_libcst(SHIPPED)
    package = importlib.import_module(SHIPPED)
    found: dict[str, str] = {}
    for one in pkgutil.iter_modules(package.__path__):
        if not one.ispkg:
            module = importlib.import_module(f"{SHIPPED}.{one.name}")
            for kind in _codemods_in(module):
                said = getattr(kind, "DESCRIPTION", "")
                found[f"{one.name}.{kind.__name__}"] = " ".join(said.split())
    return found


def _load_libcst(name: str) -> None:
    try:
        importlib.import_module("libcst.codemod")
    except ModuleNotFoundError as error:
        raise CodemodNameError(
            f"codemod '{name}' needs {error.name}: install 'parpass[codemod]'"
        ) from None


def _parts(name: str) -> tuple[str, str]:
    """Return what is before the codemod's own name, and that."""
    if ":" in name:
        place, _, own = name.rpartition(":")
        return place, own
    if name.endswith(".py"):
        return name, ""
    place, _, own = name.rpartition(".")
    return (place, own) if place else (own, "")


def _import(module: str, name: str) -> ModuleType | None:
    """Return a module; None if there is none of that name."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module == missing or module.startswith(f"{missing}."):
            return None
        raise _unloaded(name, error) from error
    except (Exception, SystemExit) as error:
        raise _unloaded(name, error) from error


def _unloaded(name: str, error: BaseException) -> CodemodNameError:
    return CodemodNameError(
        f"{type(error).__name__}: {error}\n  while codemod '{name}' was loaded"
    )


def _module_of_file(path: Path) -> ModuleType:
    """Return a file as a module, under its own name, as a script in it would see it."""
    if not path.is_file():
        raise CodemodNameError(f"there is no file '{path}' with a codemod")
    file = os.path.realpath(path)
    known = sys.modules.get(path.stem)
    if known is not None and _file_of(known) == file:
        return known
    name = path.stem
    while name in sys.modules:
        name += "_"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _unloaded(str(path), error) from error
    return module


def _file_of(module: ModuleType) -> str:
    return os.path.realpath(getattr(module, "__file__", None) or os.devnull)


def _member(module: ModuleType, own: str, name: str) -> Any:
    """Return the codemod of a module.

    Args:
        module: The module.
        own: Its name there; empty for the only one.
        name: What was asked for.

    Raises:
        CodemodNameError: There is none.
    """
    kinds = [kind.__name__ for kind in _codemods_in(module)]
    if not own:
        if len(kinds) == 1:
            return getattr(module, kinds[0])
        there = ", ".join(kinds) or "none that LibCST would run"
        raise CodemodNameError(
            f"'{name}' is a module; name a codemod in it, of which there are: {there}"
        )
    found: Any = getattr(module, own, None)
    if found is None and hasattr(module, "__path__"):
        found = _import(f"{module.__name__}.{own}", name)
    if isinstance(found, ModuleType):
        return _member(found, "", name)
    if found is None:
        near = did_you_mean(own, kinds)
        there = f"; there are {', '.join(kinds)}" if kinds and not near else ""
        raise CodemodNameError(
            f"there is no '{own}' in module '{module.__name__}'{near}{there}"
        )
    if not is_codemod(found) and (isinstance(found, type) or not callable(found)):
        raise CodemodNameError(not_a_codemod(name, found))
    return found


def _codemods_in(module: ModuleType) -> list[type]:
    """Return the codemods that a module defines: commands, if there are any."""
    commands = sys.modules["libcst.codemod"].CodemodCommand
    found = [
        value
        for value in vars(module).values()
        if is_codemod(value) and value.__module__ == module.__name__
    ]
    return [one for one in found if issubclass(one, commands)] or found
