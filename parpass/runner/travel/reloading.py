"""Modules of the program: workers have them as the process that they work for has them.

A worker imports a module when a pass of it comes, and keeps it. So it is told of what
has happened to it since: that it was reloaded, or taken out and imported anew, which
the worker does as well; and that plain values in it were set. Where its file has
changed, but it was not reloaded, a worker that would import it now gets another one:
what comes from it cannot be loaded there.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

import msgspec
from cloudpickle import list_registry_pickle_by_value

from parpass.transform import Pass

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_COMPOUND = frozenset({tuple, frozenset})
_PLAIN_OR_COMPOUND = _PLAIN | _COMPOUND
_TOLD_BY_TEXT = _COMPOUND | {float, complex}  # (1,) or (True,), 0.0 or -0.0
_CHANGED = b"?"  # in place of the digest of a file that is no more as it was
_missing = object()


class Source(NamedTuple):
    """A file as it was when a module was loaded from it.

    Attributes:
        changed: When it was changed.
        size: Its bytes.
        digest: Of its content, by which it is known on other machines; empty if that is
            not known.
    """

    changed: int
    size: int
    digest: bytes = b""


class Reload(NamedTuple):
    """How often a module was loaded again, and whether into a new one at last."""

    times: int
    anew: bool


class Code(msgspec.Struct, frozen=True):
    """What a worker has to know of the program's modules.

    Attributes:
        reloads: Of the modules that were loaded again, in that order.
        sources: Of the modules of each pass.
        values: What is set to plain values in those.
    """

    reloads: Mapping[str, Reload]
    sources: Sequence[Mapping[str, Source]]
    values: Mapping[str, dict[str, Any]]


class _Seen:
    def __init__(self, module: ModuleType) -> None:
        self.reload = Reload(0, anew=False)
        self.look(module)

    def look(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__
        self.source = _source(getattr(module, "__file__", None))

    def digested(self) -> Source | None:
        """Return the source with its digest."""
        source = self.source
        if source is not None and not source.digest:
            path = getattr(self.module, "__file__", None)
            # If it has changed since, what was loaded is nowhere any more.
            digest = _digest(path) if _source(path) == source else _CHANGED
            self.source = source._replace(digest=digest)
        return self.source


class Modules:
    """The program's modules in this process, and what became of them."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._others: set[str] = set()
        self._mark = 0, ""
        self._reloads: dict[str, Reload] = {}
        self._lock = threading.Lock()

    def code_of(self, steps: Sequence[Pass]) -> Code:
        """Return what workers have to know to run these passes."""
        with self._lock:
            self._look()
            used = [self._used(step) for step in steps]
            whole = list_registry_pickle_by_value()  # they are imported by nobody
            sources = [
                {
                    name: source
                    for name, one in seen.items()
                    if name not in whole and (source := one.digested())
                }
                for seen in used
            ]
            values = {
                name: _plain_values(one.module)
                for seen in used
                for name, one in seen.items()
            }
            reloads = self._reloads
            return Code(
                {name: reloads[name] for name in reloads if name in sys.modules},
                sources,
                values,
            )

    def _used(self, step: Pass) -> dict[str, _Seen]:
        seen = self._seen
        return {name: seen[name] for name in modules_of(step) if name in seen}

    def _look(self) -> None:
        modules = sys.modules
        again = False
        for name, seen in self._seen.items():
            module = modules.get(name)
            if module is None:
                continue  # it may come again
            if module is not seen.module or module.__spec__ is not seen.spec:
                anew = module is not seen.module
                seen.look(module)
                seen.reload = Reload(seen.reload.times + 1, anew)
                again = True
        mark = len(modules), _last(modules)
        if again or mark != self._mark:
            self._mark = mark
            for name in modules.keys() - self._seen.keys() - self._others:
                self._meet(name, modules.get(name))
        if again:
            # Each is put to the end of the table when it has been loaded.
            names = [name for name in tuple(modules) if name in self._seen]
            found = {name: self._seen[name].reload for name in names}
            self._reloads = {name: one for name, one in found.items() if one.times}

    def _meet(self, name: str, module: Any) -> None:
        is_module = isinstance(module, ModuleType) and module.__spec__ is not None
        if is_module and name != "__main__" and is_of_program(name):
            self._seen[name] = _Seen(module)
        elif module is not None:
            self._others.add(name)


MODULES = Modules()

_followed: dict[str, int] = {}  # reloads of the coordinator that were repeated here


class ChangedSourceError(Exception):
    """The file of a module is another one than the module was loaded from."""


def follow(code: Code) -> None:
    """Have the modules of this process, a worker's own, as those of the coordinator.

    Raises:
        Exception: What a module raises while it is loaded again.
    """
    for name, reload in code.reloads.items():
        if _followed.get(name, 0) < reload.times:
            module = sys.modules.get(name)
            if module is not None and reload.anew:
                del sys.modules[name]
                importlib.import_module(name)
            elif module is not None:
                importlib.reload(module)
            _followed[name] = reload.times


def check_sources(sources: Mapping[str, Source]) -> None:
    """Check that modules that were not imported yet can be, as they were elsewhere.

    Raises:
        ChangedSourceError: The file of one is not what it was.
    """
    for name, source in sources.items():
        if name not in sys.modules:
            spec = importlib.util.find_spec(name)
            if spec is not None and not _is_from(spec.origin, source):
                raise ChangedSourceError(
                    f"the file of module '{name}' has changed since it was loaded; "
                    "reload it"
                )


def set_values(code: Code) -> None:
    """Set what is plain in the modules of passes, which have been loaded."""
    for name, values in code.values.items():
        module = sys.modules.get(name)
        if module is None:
            continue
        here = vars(module)
        for one, value in values.items():
            now = here.get(one, _missing)
            if now is value:
                continue
            if _is_same(now, value):
                values[one] = now  # and need not be compared the next time
            else:
                here[one] = value


def _is_same(one: Any, other: Any) -> bool:
    """Return whether a plain value is another one; 1, True and 1.0 are three."""
    if type(one) is not type(other) or one != other:
        return False
    return type(one) not in _TOLD_BY_TEXT or repr(one) == repr(other)


def modules_of(step: Pass) -> list[str]:
    """Return the names of the modules that a pass is from, some of them twice."""
    names = [kind.__module__ for kind in type(step).__mro__]
    inner: Any = getattr(step, "_inst", None)
    if inner is not None:
        names += [kind.__module__ for kind in type(inner).__mro__]
    names.append(getattr(getattr(step, "pass_func", None), "__module__", None) or "")
    return names


def _last(modules: dict[str, ModuleType]) -> str:
    try:
        return next(reversed(modules))
    except RuntimeError:  # another thread is importing one just now
        return ""


def _plain_values(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in tuple(vars(module).items())
        if type(value) in _PLAIN_OR_COMPOUND
        and not name.startswith("__")
        and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    if type(value) not in _COMPOUND:
        return type(value) in _PLAIN
    parts = cast("Sequence[Any]", value)
    kinds = set(map(type, parts))
    return kinds <= _PLAIN or (
        kinds <= _PLAIN_OR_COMPOUND and all(map(_is_plain, parts))
    )


def _source(path: str | None) -> Source | None:
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Source(found.st_mtime_ns, found.st_size)


def _is_from(path: str | None, source: Source) -> bool:
    """Return whether a file is what a module was loaded from, here or elsewhere."""
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
def is_of_program(module: str) -> bool:
    """Return whether a module is the program's own, and no library's."""
    if module == "__main__":
        return True  # that of the process which runs the pipeline, not of this one
    if module.partition(".")[0] in _LIBRARIES:
        return False
    path = getattr(sys.modules.get(module), "__file__", None)
    return path is None or not path.startswith(_library_folders())


_LIBRARIES = sys.stdlib_module_names | {"parpass"}


@cache
def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    return (*paths, *site.getsitepackages(), site.getusersitepackages())
