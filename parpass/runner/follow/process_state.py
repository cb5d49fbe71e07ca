"""The state of a process that passes may read, and that workers take over.

It consists of the environment, the working directory, the module search path, the mask
of new files and limits of the interpreter, and of settings that libraries keep for a
process or for a context: `decimal`, `locale`, numpy, and the start method of
`multiprocessing`.

All of it can be set, so a worker is set to it, and is then what a new one would be.
What can only be inherited is in `inherited_state`.
"""

from __future__ import annotations

import contextlib
import decimal
import functools
import importlib
import locale
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parpass.runner.follow.environment import WORKER_VARIABLES

_applied: ProcessState | None = None


class NumpySettings(NamedTuple):
    """The print options of numpy, and its handling of floating-point errors."""

    printing: Mapping[str, Any]
    errors: Mapping[str, Any]


# From the documentation of `numpy.set_printoptions` and `numpy.seterr`.
_NUMPY_DEFAULTS = NumpySettings(
    {
        "precision": 8,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 75,
        "suppress": False,
        "nanstr": "nan",
        "infstr": "inf",
        "formatter": None,
        "sign": "-",
        "floatmode": "maxprec",
        "legacy": False,
    },
    {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"},
)


class ProcessState(msgspec.Struct, frozen=True):
    """The state of a process, and of the current context in it.

    Attributes:
        cwd: The working directory; None if it does not exist any more.
        locale: The locale, of all categories.
        umask: The mask of new files; None where it cannot be read.
        start_method: That of `multiprocessing`; None if none was chosen.
        decimal: The arguments of the current `decimal.Context`.
        numpy: The settings of numpy in the current context; None for its defaults.
    """

    environ: Mapping[bytes, bytes]
    cwd: str | None
    path: Sequence[str]
    argv: Sequence[str]
    recursion_limit: int
    max_str_digits: int
    locale: str
    umask: int | None
    start_method: str | None
    decimal: Sequence[Any]
    numpy: NumpySettings | None

    @property
    def is_plain(self) -> bool:
        """Whether no part of it can change while the whole stays equal."""
        return self.numpy is None or not self.numpy.printing.get("formatter")

    @classmethod
    def take(cls) -> ProcessState:
        return cls(
            _environ(),
            _cwd(),
            list(sys.path),
            list(getattr(sys, "argv", ())),
            sys.getrecursionlimit(),
            sys.get_int_max_str_digits(),
            locale.setlocale(locale.LC_ALL),
            _umask(),
            multiprocessing.get_start_method(allow_none=True),
            decimal.getcontext().__reduce__()[1],
            _numpy_settings(),
        )

    def apply(self, *, other_machine: bool = False) -> None:
        """Set this process, a worker, to the state, except settings per context.

        With `other_machine`, this machine has its files at other paths than that of the
        coordinator.
        """
        global _applied
        if _applied is self:
            return
        now, _applied = _applied, None
        environ, cwd, path = self.environ, self.cwd, self.path
        if other_machine:
            environ, cwd, path = self._with_own_paths(_own_paths())
        if other_machine or now is None or now.environ != self.environ:
            _apply_environ(environ)
        if cwd is not None and cwd != _cwd():
            os.chdir(cwd)
        if sys.path != path:
            sys.path[:] = path
        # Finders cache folders, and files may have been added to them since.
        importlib.invalidate_caches()
        sys.argv = list(self.argv)
        sys.setrecursionlimit(self.recursion_limit)
        sys.set_int_max_str_digits(self.max_str_digits)
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        if self.umask is not None:
            os.umask(self.umask)
        # Forced: loky sets its own in a worker, which is not for processes of passes.
        multiprocessing.set_start_method(self.start_method, force=True)
        _applied = self

    def apply_per_job(self) -> None:
        """Set the current context, that of a job, to the settings per context."""
        # A new one, since computing sets flags in it.
        decimal.setcontext(decimal.Context(*self.decimal))
        if self.numpy is None and _numpy_settings() is None:
            return
        import numpy as np  # late: few workers need it

        settings = self.numpy or _NUMPY_DEFAULTS
        np.set_printoptions(**settings.printing)
        np.seterr(**settings.errors)

    def _with_own_paths(self, own: ProcessPaths) -> ProcessPaths:
        """Return the environment, directory and search path for this machine.

        Variables that hold a path on this machine keep it; all others are those of the
        program. Modules are searched for on the path of this process first, then on
        that of the program, which may exist on both machines.
        """
        environ = {
            name: value
            for name, value in self.environ.items()
            if os.fsencode(os.sep) not in own.environ.get(name, b"")
        }
        path = [*own.path, *(one for one in self.path if one not in own.path)]
        exists = self.cwd is not None and os.path.isdir(self.cwd)
        cwd = self.cwd if exists else own.cwd
        return ProcessPaths({**own.environ, **environ}, cwd, path)


class ProcessPaths(NamedTuple):
    """The parts of the state of a process that hold paths on its machine."""

    environ: Mapping[bytes, bytes]
    cwd: str | None
    path: Sequence[str]


@functools.cache
def _own_paths() -> ProcessPaths:
    """Return the paths with which this process was started.

    The first call must come before a state is applied.
    """
    return ProcessPaths(_environ(), _cwd(), list(sys.path))


def _apply_environ(environ: Mapping[bytes, bytes]) -> None:
    now = os.environb
    own = {
        name: now[name] for name in map(os.fsencode, WORKER_VARIABLES) if name in now
    }
    wanted = {**environ, **own}
    zone = now.get(b"TZ")
    for name in now.keys() - wanted.keys():
        with contextlib.suppress(KeyError):
            del now[name]
    for name, value in wanted.items():
        if now.get(name) != value:
            now[name] = value
    if now.get(b"TZ") != zone and hasattr(time, "tzset"):
        time.tzset()


def _environ() -> dict[bytes, bytes]:
    # As bytes: it is compared at each stage, and decoding would take most of that.
    if isinstance(os.environ, type(os.environb)):
        return dict(os.environb)
    environ: Mapping[str, str] = os.environ  # replaced by the program
    return {os.fsencode(name): os.fsencode(environ[name]) for name in environ}


def _umask() -> int | None:
    # `os.umask` cannot read it without changing it.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return None


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _numpy_settings() -> NumpySettings | None:
    np = sys.modules.get("numpy")
    if np is None:
        return None
    settings = NumpySettings(np.get_printoptions(), np.geterr())
    return None if _are_defaults(settings) else settings


def _are_defaults(settings: NumpySettings) -> bool:
    printing, errors = _NUMPY_DEFAULTS
    return settings.errors == errors and all(
        value == printing.get(name) for name, value in settings.printing.items()
    )
