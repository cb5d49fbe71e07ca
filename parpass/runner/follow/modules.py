"""The modules of the program in the process of the coordinator: versions and values.

A worker imports a module when it is first asked for (`module_finder`). It needs to know
which version of the file is loaded here, the plain values that the program may have set
since (`plain_values`), and the modules that were loaded again (hot reload).
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from parpass.fork_safety import forks_wait
from parpass.program_modules import is_by_value, is_of_program, modules_by_value
from parpass.runner.follow.plain_values import PlainValues, encode_values
from parpass.transform.passes import holders_of

_CHANGED = b"?"  # in place of the digest of a file that has changed since, or is gone


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

    @classmethod
    def take(cls, path: str | None) -> SourceStamp | None:
        """Return the present version of a file, without its digest; None without it."""
        if path is None:
            return None
        try:
            found = os.stat(path)
        except OSError:
            return None
        return cls(found.st_mtime_ns, found.st_size)

    def is_of(self, path: str | None) -> bool:
        """Return whether a file is in this version."""
        found = SourceStamp.take(path)
        if found is None or found.size != self.size:
            return False
        return found.changed == self.changed or _digest(path) == self.digest


class Reload(NamedTuple):
    """The reloads of a module.

    Attributes:
        times: The number of times that it was loaded again.
        anew: Whether the last time made a new module object.
    """

    times: int
    anew: bool


class ModuleState(msgspec.Struct, frozen=True):
    """The state of the modules of the program, for a worker.

    Attributes:
        reloads: The modules that were loaded again, in the order of loading.
        values: The plain values of all modules, and of the classes of the passes and
            the adapter.
    """

    reloads: Mapping[str, Reload]
    sources: Mapping[str, SourceStamp]
    values: PlainValues


class _TrackedModule:
    def __init__(self, module: ModuleType) -> None:
        self.reload = Reload(0, anew=False)
        self.update(module)

    def update(self, module: ModuleType) -> None:
        self.module = module
        self.spec = _spec_of(module)
        self.source = SourceStamp.take(getattr(module, "__file__", None))

    def digested_source(self) -> SourceStamp | None:
        source = self.source
        if source is not None and not source.digest:
            path = getattr(self.module, "__file__", None)
            # If it has changed since, no file has the content that was loaded.
            digest = _digest(path) if SourceStamp.take(path) == source else _CHANGED
            self.source = source._replace(digest=digest)
        return self.source


class ModuleTracker:
    """Tracks which modules of the program are loaded in this process, and reloaded."""

    def __init__(self) -> None:
        self._seen: dict[str, _TrackedModule] = {}
        self._others: dict[str, Any] = {}  # by name; another one may follow
        self._last_stamp: tuple[int, Any] = 0, None
        self._reloads: dict[str, Reload] = {}
        self._sources: dict[str, SourceStamp] = {}
        self._lock = threading.RLock()

    def state_for(self, holders: Sequence[Any] = ()) -> ModuleState:
        """Return the state of modules that workers need for passes and an adapter."""
        with forks_wait(), self._lock:
            self._update()
            seen, modules, by_value = self._seen, sys.modules, modules_by_value()
            here = {
                name: one.module
                for name, one in seen.items()
                if modules.get(name) is one.module
            }
            kinds = [kind for one in holders for kind in _classes_of(one)]
            return ModuleState(
                {
                    name: one
                    for name, one in self._reloads.items()
                    if not is_by_value(name, by_value)  # as what is gone
                },
                self._sources,
                encode_values(here, [one for one in kinds if one.__module__ in here]),
            )

    def _update(self) -> None:
        modules: dict[str, Any] = sys.modules
        again = False
        for name, seen in self._seen.items():
            module = modules.get(name)
            if not isinstance(module, ModuleType):
                continue  # it may be imported again
            if module is not seen.module or _spec_of(module) is not seen.spec:
                anew = module is not seen.module
                seen.update(module)
                seen.reload = Reload(seen.reload.times + 1, anew)
                again = True
        stamp = len(modules), _last(modules)
        if not again and stamp == self._last_stamp:
            return
        self._last_stamp = stamp
        for name, module in [*modules.items()]:
            if name not in self._seen and module is not self._others.get(name):
                self._track(name, module)
        # Loading a module moves it to the end of `sys.modules`.
        names = [name for name in tuple(modules) if name in self._seen]
        found = {name: self._seen[name].reload for name in names}
        self._reloads = {name: one for name, one in found.items() if one.times}
        sources = {name: self._seen[name].digested_source() for name in names}
        self._sources = {name: one for name, one in sources.items() if one is not None}

    def _track(self, name: str, module: Any) -> None:
        has_spec = isinstance(module, ModuleType) and _spec_of(module) is not None
        if has_spec and name != "__main__" and is_of_program(name):
            self._seen[name] = _TrackedModule(module)
        else:
            self._others[name] = module


MODULE_TRACKER = ModuleTracker()


def _classes_of(one: Any) -> list[type]:
    return [kind for holder in holders_of(one) for kind in type(holder).__mro__]


def _spec_of(module: ModuleType) -> Any:
    return getattr(module, "__spec__", None)  # a module may have none at all


def _last(modules: dict[str, Any]) -> Any:
    try:
        return modules.get(next(reversed(modules)))
    except RuntimeError:  # another thread imports a module at this moment
        return None


def _digest(path: str | None) -> bytes:
    try:
        content = Path(path or "").read_bytes()
    except OSError:
        return _CHANGED
    return hashlib.blake2b(content, digest_size=16).digest()
