"""Digests of the code of this process: modules of the program, installed libraries.

The program is each module whose file is neither the standard library's nor among the
installed packages. Its digest has the bytes of its files, as they were when they were
loaded: a file that may have changed since then counts for this process alone, and one
that certainly has changed is an error. The digest of a library is that of the record
that its installer left, which has a digest of each of its files. parpass itself is
digested by all of its sources where it is not installed.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import psutil

from parpass.program_modules import (
    is_library_file,
    library_folders,
    parpass_folder,
)
from parpass.runner.cache.function_cache import digest_of, digest_of_all

_RECORDS = ".dist-info", ".egg-info"


class UnknownProgramError(Exception):
    """The code of a module cannot be known; the text says of which, and why."""


class _Loaded(NamedTuple):
    """A module of the program, as it was loaded.

    Attributes:
        spec: What it was loaded by: another object after a reload.
        stamp: What tells the version of its file; empty for a module without one.
        digest: The digest of the file; empty for a module without one.
    """

    module: ModuleType
    spec: Any
    stamp: tuple[int, ...]
    digest: bytes


_loaded: dict[str, _Loaded] = {}  # by name


def digests_of_sources(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, ...]]:
    """Yield the name, the path and the digest of each module's file.

    Raises:
        UnknownProgramError: A file cannot be read, or has changed since it was loaded.
    """
    for name, module in modules.items():
        file, spec = _file_of(module), module.__dict__.get("__spec__")
        known = _loaded.get(name)
        try:
            stamp = _stamp(os.stat(file)) if file else ()
            if known is None or known.module is not module or known.spec is not spec:
                digest = _digest_of_file(file, stamp) if file else b""
                known = _loaded[name] = _Loaded(module, spec, stamp, digest)
        except OSError as error:
            raise UnknownProgramError(
                f"the file of module '{name}' cannot be read ({error})"
            ) from None
        if known.stamp != stamp:
            raise UnknownProgramError(
                f"the file of module '{name}' has changed since it was loaded; reload "
                "the module, or restart"
            )
        yield name, file, known.digest.hex()


@functools.cache
def digest_of_libraries() -> bytes:
    """Return the digest of Python, of what is installed, and of parpass."""
    return digest_of_all(_libraries())


def _libraries() -> Iterator[bytes]:
    yield _encoded((sys.version, sys.flags, sys.prefix, platform.machine()))
    for folder in sorted({*library_folders(), *map(os.path.abspath, sys.path)}):
        try:
            names = sorted(os.listdir(folder))
            stamp = _stamp(os.stat(folder))
        except OSError:
            continue
        records = [one for one in names if one.endswith(_RECORDS)]
        if not records:
            continue
        yield _encoded((folder, records))
        for one in records:
            try:
                yield Path(folder, one, "RECORD").read_bytes()
            except OSError:  # the name has the version
                yield b""
        if _may_have_changed(stamp):  # while this process ran
            yield os.urandom(16)
    if not is_library_file(parpass_folder()):
        yield from _sources_of_parpass()


def _sources_of_parpass() -> Iterator[bytes]:
    for folder, inner, names in os.walk(parpass_folder()):
        inner.sort()
        for name in sorted(one for one in names if one.endswith(".py")):
            path = os.path.join(folder, name)
            yield _encoded(path)
            with open(path, "rb") as file:
                yield file.read()
                stamp = _stamp(os.fstat(file.fileno()))
            if _may_have_changed(stamp):
                yield os.urandom(16)


def _encoded(value: object) -> bytes:
    return repr(value).encode(errors="surrogatepass")


def _file_of(module: ModuleType) -> str:
    file = module.__dict__.get("__file__")
    return os.path.abspath(file) if isinstance(file, str) else ""


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _digest_of_file(file: str, stamp: tuple[int, ...]) -> bytes:
    digest = digest_of(Path(file).read_bytes())
    return digest + os.urandom(16) if _may_have_changed(stamp) else digest


def _may_have_changed(stamp: tuple[int, ...]) -> bool:
    """Return whether a file may have changed since this process began to load it.

    The time of a file's last change of any kind cannot be set to an earlier one.
    """
    return max(stamp[2:]) >= _began()


@functools.cache
def _began() -> int:
    """Return when this process began, or the one that it was forked from, in ns."""
    process = psutil.Process()
    began, command = _began_at(process), process.cmdline()
    try:
        for one in process.parents():
            if one.cmdline() != command:
                break
            began = min(began, _began_at(one))
    except psutil.Error:
        pass
    return int(began * 1e9)


def _began_at(process: psutil.Process) -> float:
    """Return when a process began, in seconds of wall-clock time, or a little before.

    Linux tells it in hundredths of a second since the machine was started, of which
    psutil makes whole seconds.
    """
    try:
        about = Path(f"/proc/{process.pid}/stat").read_text(errors="replace")
        ticks = int(about.rpartition(")")[2].split()[19])
        running = time.clock_gettime(time.CLOCK_BOOTTIME)
        began = time.time() - running + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return process.create_time() - 1.0
    return began - 0.02
