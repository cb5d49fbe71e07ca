"""The process that `warm` starts: `python -m` this module.

Standard input has the request, and is open as long as the result is wanted; standard
output gets the result.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numba

from parpass.integrations.numba import cache_notes, scheduling, units
from parpass.integrations.numba.units import CallGraph, Unit


def main() -> None:
    """Do what the request says, and end with all processes of this group."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for modules that print
    request = json.loads(sys.stdin.readline())
    sys.path[:] = request["path"]
    workers = request["workers"]
    result: dict[str, Any] | None = None
    try:
        if workers > 1 and hasattr(os, "fork"):
            result = _parallel(request["modules"], workers)
        elif workers == 0:
            result = _serial(request["modules"])
    except KeyboardInterrupt:
        os.killpg(0, signal.SIGKILL)
    out.write(json.dumps(result))
    out.close()
    os._exit(0)  # what modules have at exit is not for this process


def _parallel(modules: Sequence[str], workers: int) -> dict[str, Any] | None:
    """Return the result of workers; None if the import has to be run as it is."""
    recorder = units.Recorder()
    try:
        recorder.import_modules(modules)
    except Exception:  # noqa: BLE001 -- the import as it is tells of it
        return None
    kept = [one for one in recorder.units if one.is_kept]
    graph = units.CallGraph(recorder.units)
    try:
        folders = {one.name: units.cache_folder(one.dispatcher) for one in kept}
    except RuntimeError:  # there is no folder to keep it in
        return None
    with _locked(set(folders.values())):
        digests = _Digests(kept, folders, graph)
        # What forks inherit: without it each loads Numba's own functions again.
        numba.njit("f8[:](f8[:])")(_warm_up)
        compiled = scheduling.compile_units(kept, graph, min(workers, len(kept)), 0)
        if compiled is None:
            digests.forget_stale()
            return None
        digests.keep()
    return {
        "compiled": [name for name, is_new in compiled.items() if is_new],
        "loaded": [name for name, is_new in compiled.items() if not is_new],
        "left": [one.name for one in recorder.units if not one.is_kept],
        "in_order": False,
    }


def _warm_up(x: Any) -> Any:
    return x + x * 2.0


@contextlib.contextmanager
def _locked(folders: set[str]) -> Generator[None]:
    """Hold folders of the cache against other processes that warm it."""
    import fcntl  # which Windows has not

    with contextlib.ExitStack() as stack:
        for folder in sorted(folders):
            Path(folder).mkdir(parents=True, exist_ok=True)
            held = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, held)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


class _Digests:
    """Digests of the other files that functions call into: now, and when kept."""

    def __init__(
        self, kept: Sequence[Unit], folders: Mapping[str, str], graph: CallGraph
    ) -> None:
        self._now = {one: graph.digest(one) for one in kept}
        self._paths = {
            one: Path(folders[one.name], f"parpass-{one.module}.callees")
            for one in kept
        }
        self._known = {
            path: dict(cache_notes.read_digests(path))
            for path in set(self._paths.values())
        }
        for one, now in self._now.items():
            known = self._known[self._paths[one]].get(one.name)
            one.is_stale = bool(now) and known != now

    def keep(self) -> None:
        """Write how callees look now."""
        for one, now in self._now.items():
            if now:
                self._known[self._paths[one]][one.name] = now
        for path, digests in self._known.items():
            if digests:
                cache_notes.write_digests(path, digests)

    def forget_stale(self) -> None:
        """Take functions out of the cache that the import must not load."""
        for one in self._now:
            if one.is_stale:
                one.forget()


class _Naming:
    """Numba's decorators, with a list of what they compiled and what failed."""

    def __init__(self) -> None:
        self.done: dict[str, list[str]] = {"compiled": [], "loaded": [], "left": []}
        self.failed: list[str] = []

    def decorator(self, true: Callable[..., Any]) -> Callable[..., Any]:
        """Return a decorator that does the same as the given one of Numba."""

        def decorate(given: Any = None, *args: Any, **options: Any) -> Any:
            wrap = true(given, *args, **options)
            if given is None or hasattr(given, "__code__"):
                return wrap

            def wrapper(function: Any) -> Any:
                return self._wrap(wrap, function, given)

            return wrapper

        return decorate

    def _wrap(self, wrap: Callable[[Any], Any], function: Any, given: Any) -> Any:
        code = function.__code__
        name = f"{function.__module__}.{function.__qualname__}"
        try:
            made = wrap(function)
        except Exception:
            self.failed.append(
                f"in function '{name}' with signature {given!r}, "
                f"{code.co_filename}:{code.co_firstlineno}"
            )
            raise
        if hasattr(made, "stats"):  # else Numba is switched off
            misses = sum(made.stats.cache_misses.values())
            how = "compiled" if misses else "loaded"
            self.done[how if made.stats.cache_path else "left"].append(name)
        return made


def _serial(modules: Sequence[str]) -> dict[str, Any]:
    """Import modules as they are, and tell which function fails."""
    naming = _Naming()
    numba.jit, numba.njit = naming.decorator(numba.jit), naming.decorator(numba.njit)
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 -- it goes to the caller
            where = [*naming.failed[:1], f"while module '{name}' was imported"]
            return {"error": f"{type(error).__name__}: {error}", "where": where}
    return {**naming.done, "in_order": True}


if __name__ == "__main__":
    main()
