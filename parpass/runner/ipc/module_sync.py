"""Keeps modules of the program in workers in sync with the coordinator (hot reload).

A worker imports a module when it receives the first pass of it, and keeps it. If the
coordinator reloads the module since, or removes and imports it again, so does the
worker; and plain values that are set in the module, or in classes of it, are set in the
worker, too. If the file has changed but was not reloaded, a worker that imports the
module now would get different code, so objects of the module cannot be loaded in it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
from cloudpickle import list_registry_pickle_by_value

from parpass.fork_safety import ForkSafeLock, fork_lock
from parpass.runner.ipc.plain_values import PlainValues, plain_values
from parpass.transform import ModuleAdapter, Pass

_CHANGED = b"?"  # in place of the digest of a file that has changed since, or is gone
# The packages that are never of the program.
_LIBRARIES = sys.stdlib_module_names | {"parpass"}

_synced_reloads: dict[str, int] = {}  # reloads that this worker has repeated


class SourceStamp(NamedTuple):
    """The version of a file when a module was loaded from it.

    Attributes:
        changed: The modification time, in nanoseconds.
        size: The size, in bytes.
        digest: The hash of the content, which identifies it on other machines; empty
            until it is computed.
    """

    changed: int
    size: int
    digest: bytes = b""


class Reload(NamedTuple):
    """The reloads of a module.

    Attributes:
        times: How many times it was loaded again.
        anew: Whether the last time made a new module object.
    """

    times: int
    anew: bool


class ModuleState(msgspec.Struct, frozen=True):
    """The state of the modules of the program, for a worker.

    Attributes:
        reloads: The modules that were loaded again, in the order of loading.
        sources: For each pass, the versions of the files of its modules.
        values: The plain values of these modules, of the classes of passes, and of the
            class of the adapter.
    """

    reloads: Mapping[str, Reload]
    sources: Sequence[Mapping[str, SourceStamp]]
    values: PlainValues


class _TrackedModule:
    def __init__(self, module: ModuleType) -> None:
        self.reload = Reload(0, anew=False)
        self.update(module)

    def update(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__
        self.source = _source(getattr(module, "__file__", None))

    def digested_source(self) -> SourceStamp | None:
        """Return the source with its digest, which is computed once."""
        source = self.source
        if source is not None and not source.digest:
            path = getattr(self.module, "__file__", None)
            # If it has changed since, no file has the content that was loaded.
            digest = _digest(path) if _source(path) == source else _CHANGED
            self.source = source._replace(digest=digest)
        return self.source


class ModuleTracker:
    """Tracks which modules of the program are loaded in this process, and reloaded."""

    def __init__(self) -> None:
        self._seen: dict[str, _TrackedModule] = {}
        self._others: set[str] = set()
        self._last_stamp = 0, ""
        self._reloads: dict[str, Reload] = {}
        self._lock = ForkSafeLock()

    def state_for(
        self, steps: Sequence[Pass], adapter: ModuleAdapter | None = None
    ) -> ModuleState:
        """Return the state of modules that workers need to run passes on an IR."""
        with self._lock:
            self._update()
            used = [self._used(step) for step in steps]
            whole = list_registry_pickle_by_value()  # no worker imports them
            sources = [
                {
                    name: source
                    for name, one in seen.items()
                    if name not in whole and (source := one.digested_source())
                }
                for seen in used
            ]
            values = self._values([*steps, adapter])
            reloads = self._reloads
            return ModuleState(
                {name: reloads[name] for name in reloads if name in sys.modules},
                sources,
                values,
            )

    def _used(self, step: Pass) -> dict[str, _TrackedModule]:
        seen = self._seen
        return {name: seen[name] for name in modules_of(step) if name in seen}

    def _values(self, holders: Sequence[Any]) -> PlainValues:
        seen = self._seen
        modules = {name for one in holders for name in modules_of(one) if name in seen}
        classes = [kind for one in holders for kind in _classes_of(one)]
        return plain_values(
            [seen[name].module for name in modules],
            [kind for kind in classes if kind.__module__ in modules],
        )

    def _update(self) -> None:
        modules = sys.modules
        again = False
        for name, seen in self._seen.items():
            module = modules.get(name)
            if module is None:
                continue  # it may be imported again
            if module is not seen.module or module.__spec__ is not seen.spec:
                anew = module is not seen.module
                seen.update(module)
                seen.reload = Reload(seen.reload.times + 1, anew)
                again = True
        stamp = len(modules), _last(modules)
        if again or stamp != self._last_stamp:
            self._last_stamp = stamp
            for name in modules.keys() - self._seen.keys() - self._others:
                self._track(name, modules.get(name))
        if again:
            # Loading a module moves it to the end of `sys.modules`.
            names = [name for name in tuple(modules) if name in self._seen]
            found = {name: self._seen[name].reload for name in names}
            self._reloads = {name: one for name, one in found.items() if one.times}

    def _track(self, name: str, module: Any) -> None:
        is_module = isinstance(module, ModuleType) and module.__spec__ is not None
        if is_module and name != "__main__" and is_user_module(name):
            self._seen[name] = _TrackedModule(module)
        elif module is not None:
            self._others.add(name)


MODULE_TRACKER = ModuleTracker()


class ChangedSourceError(Exception):
    """The file of a module has changed since the coordinator loaded the module."""


def sync_modules(code: ModuleState) -> None:
    """Repeat the reloads of the coordinator in this process, a worker.

    Raises:
        Exception: A module raised it while it was loaded again.
    """
    for name, reload in code.reloads.items():
        if _synced_reloads.get(name, 0) < reload.times:
            module = sys.modules.get(name)
            if module is not None and reload.anew:
                del sys.modules[name]
                with fork_lock:
                    importlib.import_module(name)
            elif module is not None:
                with fork_lock:
                    importlib.reload(module)
            _synced_reloads[name] = reload.times


def check_sources(sources: Mapping[str, SourceStamp]) -> None:
    """Check that modules which are not imported yet have unchanged files.

    Raises:
        ChangedSourceError: The file of one has changed.
    """
    for name, source in sources.items():
        if name not in sys.modules:
            with fork_lock:  # it imports packages
                spec = importlib.util.find_spec(name)
            if spec is not None and not _is_from(spec.origin, source):
                raise ChangedSourceError(
                    f"the file of module '{name}' has changed since it was loaded; "
                    "reload it"
                )


def modules_of(one: Any) -> list[str]:
    """Return the modules that define a pass, or an adapter; some may occur twice."""
    names = [kind.__module__ for kind in _classes_of(one)]
    names.append(getattr(getattr(one, "pass_func", None), "__module__", None) or "")
    return names


def _classes_of(one: Any) -> list[type]:
    inner: Any = getattr(one, "_inst", None)
    return [*type(one).__mro__, *(type(inner).__mro__ if inner is not None else ())]


def _last(modules: dict[str, ModuleType]) -> str:
    try:
        return next(reversed(modules))
    except RuntimeError:  # another thread imports a module at this moment
        return ""


def _source(path: str | None) -> SourceStamp | None:
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return SourceStamp(found.st_mtime_ns, found.st_size)


def _is_from(path: str | None, source: SourceStamp) -> bool:
    """Return whether a file is the version that a module was loaded from."""
    found = _source(path)
    if found is None or found.size != source.size:
        return False
    return found.changed == source.changed or _digest(path) == source.digest


def _digest(path: str | None) -> bytes:
    try:
        content = Path(path or "").read_bytes()
    except OSError:
        return _CHANGED
    return hashlib.blake2b(content, digest_size=16).digest()


@cache
def is_user_module(module: str) -> bool:
    """Return whether a module is of the program, not of an installed library."""
    if module == "__main__":
        return True  # of the process that runs the pipeline, whatever it is in this one
    if module.partition(".")[0] in _LIBRARIES:
        return False
    path = getattr(sys.modules.get(module), "__file__", None)
    return path is None or not path.startswith(_library_folders())


@cache
def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    return (*paths, *site.getsitepackages(), site.getusersitepackages())
