"""The state of a process that passes may read, and that workers take over.

It consists of the environment, the working directory, the module search path and the
recursion limit, and of settings that libraries keep for a process or for a context:
`decimal`, `locale`, numpy, log levels and logger methods that the program added, and
the start method of `multiprocessing`.
"""

from __future__ import annotations

import contextlib
import decimal
import functools
import importlib
import locale
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parpass.fork_safety import fork_lock
from parpass.runner.executor import WORKER_VARIABLES
from parpass.runner.ipc.pickling import pickle_by_value
from parpass.transform.capture.intercept import unwrap_patched

_last_encoded: tuple[ProcessState, bytes] | None = None
_applied: ProcessState | None = None
_last_decimal: tuple[str, DecimalSettings] | None = None  # by `repr` of the context
_last_numpy: tuple[NumpySettings, NumpySettings | None] | None = None
_last_methods: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None


class DecimalSettings(NamedTuple):
    """The arguments of `decimal.Context`."""

    prec: int
    rounding: str
    Emin: int
    Emax: int
    capitals: int
    clamp: int
    flags: Sequence[Any]
    traps: Sequence[Any]


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
        environ: The environment, as bytes.
        cwd: The working directory; None if it does not exist any more.
        path: `sys.path`.
        argv: `sys.argv`.
        recursion_limit: The recursion limit of Python.
        max_str_digits: The maximum length of an int as text, in digits.
        locale: The locale, of all categories.
        level_names: The log levels, by name.
        logger_methods: The methods that were added to `logging.Logger`, by name.
        start_method: The start method of `multiprocessing`; None if none was chosen.
        decimal: The settings of `decimal` in the current context.
        numpy: The settings of numpy in the current context; None for its defaults.
    """

    environ: Mapping[bytes, bytes]
    cwd: str | None
    path: Sequence[str]
    argv: Sequence[str]
    recursion_limit: int
    max_str_digits: int
    locale: str
    level_names: Mapping[str, int]
    logger_methods: Mapping[str, Any]
    start_method: str | None
    decimal: DecimalSettings
    numpy: NumpySettings | None

    @property
    def is_plain(self) -> bool:
        """Whether no part of it can change while the whole stays equal."""
        prints = self.numpy is not None and self.numpy.printing.get("formatter")
        return not (self.logger_methods or prints)

    @classmethod
    def take(cls) -> ProcessState:
        """Return the state of this process and of the current context."""
        return cls(
            _environ(),
            _cwd(),
            list(sys.path),
            list(getattr(sys, "argv", ())),
            sys.getrecursionlimit(),
            sys.get_int_max_str_digits(),
            locale.setlocale(locale.LC_ALL),
            logging.getLevelNamesMapping(),
            _logger_methods(),
            multiprocessing.get_start_method(allow_none=True),
            _decimal_settings(),
            _numpy_settings(),
        )

    def apply(self, *, other_machine: bool = False) -> None:
        """Set this process, a worker, to the state, but for what is per context.

        Args:
            other_machine: Whether this machine has its files at other paths than that
                of the coordinator.

        Raises:
            OSError: The working directory does not exist.
            Exception: A setting is not available, such as the locale.
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
        for name, level in self.level_names.items():
            logging.addLevelName(level, name)
        for name, method in self.logger_methods.items():
            setattr(logging.Logger, name, method)
        # Forced: loky sets its own in a worker, which is not for processes of passes.
        multiprocessing.set_start_method(self.start_method, force=True)
        _applied = self

    def apply_per_job(self) -> None:
        """Set the current context, that of a job, to the settings per context."""
        # A new one, since computing sets flags in it.
        decimal.setcontext(decimal.Context(*self.decimal))
        if self.numpy is None and _numpy_settings() is None:
            return
        with fork_lock:
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


def encode_process_state() -> bytes:
    """Return the state of this process as bytes; those of the last call, if equal.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    global _last_encoded
    state, last = ProcessState.take(), _last_encoded
    if last is not None and last[0] == state:
        return last[1]
    encoded = pickle_by_value(state)
    if state.is_plain:
        _last_encoded = state, encoded
    return encoded


def _environ() -> dict[bytes, bytes]:
    # As bytes: it is compared at each stage, and decoding would take most of that.
    if isinstance(os.environ, type(os.environb)):
        return dict(os.environb)
    environ: Mapping[str, str] = os.environ  # replaced by the program
    return {os.fsencode(name): os.fsencode(environ[name]) for name in environ}


def _decimal_settings() -> DecimalSettings:
    global _last_decimal
    context = decimal.getcontext()
    text, last = repr(context), _last_decimal
    if last is None or last[0] != text:
        last = _last_decimal = text, _settings_of(context)
    return last[1]


def _settings_of(context: decimal.Context) -> DecimalSettings:
    return DecimalSettings(
        context.prec,
        context.rounding,
        context.Emin,
        context.Emax,
        context.capitals,
        context.clamp,
        [signal for signal, is_set in context.flags.items() if is_set],
        [signal for signal, is_set in context.traps.items() if is_set],
    )


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _logger_methods() -> Mapping[str, Any]:
    global _last_methods
    found, last = tuple(vars(logging.Logger).items()), _last_methods
    if last is None or last[0] != found:
        last = _last_methods = found, _added_methods()
    return last[1]


def _added_methods() -> dict[str, Any]:
    # Programs add a method for each level that they define.
    added = {
        name: unwrap_patched(value)
        for name, value in vars(logging.Logger).items()
        if not _is_of_logging(value)
    }
    return {name: value for name, value in added.items() if not _is_of_logging(value)}


def _is_of_logging(value: Any) -> bool:
    return getattr(value, "__module__", None) in ("logging", None)


def _numpy_settings() -> NumpySettings | None:
    global _last_numpy
    np = sys.modules.get("numpy")
    if np is None:
        return None
    settings, last = NumpySettings(np.get_printoptions(), np.geterr()), _last_numpy
    if last is None or last[0] != settings:
        changed = None if _are_defaults(settings) else settings
        last = _last_numpy = settings, changed
    return last[1]


def _are_defaults(settings: NumpySettings) -> bool:
    printing, errors = _NUMPY_DEFAULTS
    return settings.errors == errors and all(
        value == printing.get(name) for name, value in settings.printing.items()
    )
