"""Files beside Numba's cache: the types of calls, and what callees looked like."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from parpass.errors import ArgumentError
from parpass.spi import atomic_write


def record(*modules: str) -> int:
    """Keep the types that functions were called with, for `warm` to compile.

    Call it at the end of a run. What is written is beside Numba's cache, and holds for
    functions that are decorated with `cache=True` and without signatures; what an
    earlier run wrote stays in it.

    Args:
        modules: Names of imported modules.

    Returns:
        How many functions were called.

    Raises:
        ArgumentError: A module is not imported.
        OSError: The file cannot be written.
    """
    called = 0
    for name in modules:
        if name not in sys.modules:
            raise ArgumentError(
                f"module '{name}' is not imported: record() tells what this process "
                "called; call it at the end of a run"
            )
        folders: dict[str, dict[str, Any]] = {}
        for function in jitted(sys.modules[name]):
            if (folder := function.stats.cache_path) and function.signatures:
                seen = folders.setdefault(folder, {})
                seen[function.py_func.__qualname__] = function.signatures
        for folder, seen in folders.items():
            known = recorded(folder, name)
            for function, signatures in seen.items():
                known[function] = [
                    *dict.fromkeys([*known.get(function, ()), *signatures])
                ]
            write_whole(_path(folder, name), pickle.dumps(known))
            called += len(seen)
    return called


def recorded(folder: str, module: str) -> dict[str, Sequence[Any]]:
    """Return the types of arguments that functions were called with, by their names.

    Args:
        folder: Where Numba keeps the module's functions.
        module: The module's name.
    """
    try:
        return pickle.loads(_path(folder, module).read_bytes())
    except Exception:  # noqa: BLE001 -- none, of another version of Numba, or damaged
        return {}


def jitted(module: ModuleType) -> Sequence[Any]:
    """Return the functions that a module defines and Numba compiles."""
    return [
        value
        for value in vars(module).values()
        if is_jitted(value) and value.py_func.__module__ == module.__name__
    ]


def is_jitted(value: object) -> bool:
    """Return whether a value is a function that Numba compiles."""
    return hasattr(type(value), "recompile")


def read_digests(path: Path) -> Mapping[str, str]:
    """Return the digests that `write_digests` wrote; none if a file is damaged."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = [line.partition(" ") for line in lines]
    return {name: digest for digest, _, name in pairs}


def write_digests(path: Path, digests: Mapping[str, str]) -> None:
    """Write digests by the names of functions.

    Raises:
        OSError: The file cannot be written.
    """
    lines = [f"{digest} {name}\n" for name, digest in sorted(digests.items())]
    write_whole(path, "".join(lines).encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(data)


def _path(folder: str, module: str) -> Path:
    return Path(folder, f"parpass-{module}.signatures")
