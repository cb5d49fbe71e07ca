"""The versions of libraries, by which a cache tells their code from another."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from parpass.runner.cache.code_references import UnknownIdentityError

_USED_BY_PASSES = ("llvmlite", "ml_dtypes")  # of parpass, where they are installed


def version_of(module: str) -> str:
    """Return the version of the library that a module is of, with what it requires.

    Raises:
        UnknownIdentityError: It has none.
    """
    return version_of_library(module.partition(".")[0])


@functools.cache
def version_of_library(top: str) -> str:
    """Return the version of a library by the name of its package; see `version_of`."""
    if top in sys.stdlib_module_names:
        return platform.python_version()
    versions = _versions([top])
    if not versions:
        named = importlib.metadata.packages_distributions().get(top, ())
        versions = _versions(named)
    if top == "parpass":  # whose version may lag behind its sources
        versions |= _versions(_USED_BY_PASSES)
        versions["parpass"] = _source_digest(top)
    if versions:
        return " ".join(f"{name} {versions[name]}" for name in sorted(versions))
    known = getattr(sys.modules.get(top), "__dict__", {}).get("__version__")
    if isinstance(known, str):
        return known
    raise UnknownIdentityError(f"library '{top}' has no version")


def _versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of distributions, and of those that they require."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
            required = importlib.metadata.requires(name) or ()
            waiting += [
                re.split(r"[^\w.-]", one, maxsplit=1)[0].lower()
                for one in required
                if "extra ==" not in one
            ]
    return found


def _source_digest(package: str) -> str:
    """Return a digest of the source files of a package."""
    state = hashlib.blake2b(digest_size=16)
    for folder in sys.modules[package].__path__:
        for path in sorted(Path(folder).rglob("*.py")):
            state.update(str(path.relative_to(folder)).encode())
            state.update(path.read_bytes())
    return state.hexdigest()
