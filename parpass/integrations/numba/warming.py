"""`warm`: the host's side, which starts the process that compiles."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from parpass.errors import ArgumentError, ParpassError
from parpass.spi import check_version, fork_lock, usable_cores

_TESTED = ("0.68.*",)
_NEEDED = "Numba's functions need numba: pip install 'parpass[numba]'"


class WarmError(ParpassError):
    """Modules cannot be imported, or a function of theirs cannot be compiled."""


@dataclass(frozen=True)
class WarmResult:
    """The outcome of `warm`.

    Attributes:
        compiled: The functions that were compiled and are in the cache now.
        loaded: Those that were in it before.
        left: Those that have signatures but no `cache=True`: the import compiles them.
        in_order: Whether modules were imported as they are, one function after another.
    """

    compiled: Sequence[str]
    loaded: Sequence[str]
    left: Sequence[str]
    in_order: bool


def warm(*modules: str, workers: int | None = None) -> WarmResult:
    """Compile what modules compile as they are imported, into Numba's own cache.

    Call it before the modules are imported. A process of its own imports them with
    decorators that compile nothing, and its forks compile the functions. Where that
    does not go, modules are imported in that process as they are, one function after
    another: on systems without fork, if a module calls its functions as it is
    imported, or if one fails. This process imports Numba meanwhile, and is
    otherwise left as it is.

    Args:
        modules: Their names, as they are imported.
        workers: How many processes compile; 0 for an import as it is; None for as many
            as there are cores, or fewer by this process's affinity mask or the quota
            of its container.

    Returns:
        What was compiled.

    Raises:
        ArgumentError: A name is no module's name, or a number is below 0.
        ImportError: Numba is not installed.
        WarmError: A module cannot be imported. Numba's message is first, then the
            function and its signature.
    """
    for name in modules:
        if not all(part.isidentifier() for part in str(name).split(".")):
            raise ArgumentError(
                f"expected a module's name, such as 'package.kernels'; got {name!r}"
            )
    if not modules or "__main__" in modules:
        raise ArgumentError(
            "expected names of modules that can be imported; got "
            + ("none" if not modules else "'__main__', which only runs here")
        )
    if workers is not None and workers < 0:
        raise ArgumentError(f"expected workers of 0 or more, or None; got {workers}")
    _check_numba()
    count = usable_cores() if workers is None else workers
    result = _child(modules, count) if count > 1 else None
    if result is None:
        result = _child(modules, 0)
    if result is None:
        raise WarmError(f"the process that imported {', '.join(modules)} died")
    if "error" in result:
        raise WarmError("\n".join([result["error"], *result["where"]]))
    return WarmResult(**result)


def _check_numba() -> None:
    try:
        version = metadata.version("numba")
    except metadata.PackageNotFoundError:
        raise ImportError(_NEEDED) from None
    check_version(
        "numba", version, _TESTED, "functions may be compiled again as they are called"
    )


def _child(modules: Sequence[str], workers: int) -> dict[str, Any] | None:
    """Return what the process says that does it; None if it says nothing."""
    process = subprocess.Popen(
        [sys.executable, "-m", "parpass.integrations.numba.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its forks end with it
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        request = {"modules": modules, "path": sys.path, "workers": workers}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        with fork_lock:
            importlib.import_module("numba")  # the caller will, and a core is free
        told = process.stdout.read()
    finally:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):  # it ended, and its forks
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()
    return json.loads(told) if told else None
