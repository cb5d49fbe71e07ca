"""What a process is set to, which passes may read, and workers are to have as well.

The environment, the working directory, where modules are found, how deep one may
recurse; and what libraries keep for a process or for a context: `decimal`, `locale`,
numpy, levels and methods that a program gave to loggers; how `multiprocessing` starts
processes.
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

from parpass.runner.executor import OF_WORKERS
from parpass.runner.travel.pickling import pack_by_value
from parpass.transform.saying.interception import behind

_packed: tuple[Surroundings, bytes] | None = None  # the last that were
_applied: Surroundings | None = None
_last_decimal: tuple[str, DecimalSettings] | None = None  # by all that it is set to
_last_numpy: tuple[NumpySettings, NumpySettings | None] | None = None
_last_methods: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None


class DecimalSettings(NamedTuple):
    """A context of `decimal`, by what it is made with."""

    prec: int
    rounding: str
    Emin: int
    Emax: int
    capitals: int
    clamp: int
    flags: Sequence[Any]
    traps: Sequence[Any]


class NumpySettings(NamedTuple):
    """How numpy prints, and what it does where a value cannot be represented."""

    printing: Mapping[str, Any]
    errors: Mapping[str, Any]


# As its documentation of `set_printoptions` and `seterr` has them.
_FIRST_OF_NUMPY = NumpySettings(
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


class Surroundings(msgspec.Struct, frozen=True):
    """What a process, and a place in it, are set to.

    Attributes:
        environ: The environment, as the system has it.
        cwd: The working directory; None if it is gone.
        path: `sys.path`.
        argv: `sys.argv`.
        recursion_limit: How deep Python's stack may get.
        most_digits: How long an int may be as text.
        locale: All categories.
        level_names: Of log levels.
        logger_methods: Those that `logging.Logger` has not by itself.
        start_method: The program's choice of how processes are started, if it has one.
        decimal: The context of this place.
        numpy: The settings of this place; None for those that numpy begins with.
    """

    environ: Mapping[bytes, bytes]
    cwd: str | None
    path: Sequence[str]
    argv: Sequence[str]
    recursion_limit: int
    most_digits: int
    locale: str
    level_names: Mapping[str, int]
    logger_methods: Mapping[str, Any]
    start_method: str | None
    decimal: DecimalSettings
    numpy: NumpySettings | None

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing in it that can change while it stays equal."""
        prints = self.numpy is not None and self.numpy.printing.get("formatter")
        return not (self.logger_methods or prints)

    @classmethod
    def take(cls) -> Surroundings:
        """Return those of this process, and of this place in it."""
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

    def apply(self, *, elsewhere: bool = False) -> None:
        """Make them those of this process, which is a worker's own.

        Args:
            elsewhere: Whether this is another machine, where files are in other places.

        Raises:
            OSError: The working directory is gone.
            Exception: The locale is not known here, or the like.
        """
        global _applied
        if _applied is self:
            return
        now, _applied = _applied, None
        environ, cwd, path = self.environ, self.cwd, self.path
        if elsewhere:
            environ, cwd, path = self._with_places(_own_places())
        if elsewhere or now is None or now.environ != self.environ:
            _apply_environ(environ)
        if cwd is not None and cwd != _cwd():
            os.chdir(cwd)
        if sys.path != path:
            sys.path[:] = path
        # Files may have come to be in places that were looked at before.
        importlib.invalidate_caches()
        sys.argv = list(self.argv)
        sys.setrecursionlimit(self.recursion_limit)
        sys.set_int_max_str_digits(self.most_digits)
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        for name, level in self.level_names.items():
            logging.addLevelName(level, name)
        for name, method in self.logger_methods.items():
            setattr(logging.Logger, name, method)
        # A worker itself is loky's, of which the children of a body know nothing.
        multiprocessing.set_start_method(self.start_method, force=True)
        _applied = self

    def apply_here(self) -> None:
        """Do the same for what each place has of its own: for a job."""
        # A new one, as what bodies compute leaves flags in it.
        decimal.setcontext(decimal.Context(*self.decimal))
        if self.numpy is None and _numpy_settings() is None:
            return
        import numpy as np  # which few need otherwise

        settings = self.numpy or _FIRST_OF_NUMPY
        np.set_printoptions(**settings.printing)
        np.seterr(**settings.errors)

    def _with_places(self, own: Places) -> Places:
        """Return what names places where others are right, and all else as it is here.

        What is set to a path stays as it was told here. Modules are looked for here
        first; then where the program looks, which may be on both machines.
        """
        environ = {
            name: value
            for name, value in self.environ.items()
            if os.fsencode(os.sep) not in own.environ.get(name, b"")
        }
        path = [*own.path, *(one for one in self.path if one not in own.path)]
        is_here = self.cwd is not None and os.path.isdir(self.cwd)
        cwd = self.cwd if is_here else own.cwd
        return Places({**own.environ, **environ}, cwd, path)


class Places(NamedTuple):
    """What of a process's surroundings names places in the files of its machine."""

    environ: Mapping[bytes, bytes]
    cwd: str | None
    path: Sequence[str]


@functools.cache
def _own_places() -> Places:
    """Return where this process was told that files are, before it followed any other.

    Called before that is done.
    """
    return Places(_environ(), _cwd(), list(sys.path))


def _apply_environ(environ: Mapping[bytes, bytes]) -> None:
    here = os.environb
    own = {name: here[name] for name in map(os.fsencode, OF_WORKERS) if name in here}
    wanted = {**environ, **own}
    zone = here.get(b"TZ")
    for name in here.keys() - wanted.keys():
        with contextlib.suppress(KeyError):
            del here[name]
    for name, value in wanted.items():
        if here.get(name) != value:
            here[name] = value
    if here.get(b"TZ") != zone and hasattr(time, "tzset"):
        time.tzset()


def pack_surroundings() -> bytes:
    """Return those of this process as bytes; mostly they are what they were.

    Raises:
        Exception: Something in them cannot be pickled.
    """
    global _packed
    taken, last = Surroundings.take(), _packed
    if last is not None and last[0] == taken:
        return last[1]
    packed = pack_by_value(taken)
    if taken.is_plain:
        _packed = taken, packed
    return packed


def _environ() -> dict[bytes, bytes]:
    # It is compared at each stage, and decoding takes most of that.
    if isinstance(os.environ, type(os.environb)):
        return dict(os.environb)
    environ: Mapping[str, str] = os.environ  # the program's own, in its place
    return {os.fsencode(name): os.fsencode(environ[name]) for name in environ}


def _decimal_settings() -> DecimalSettings:
    global _last_decimal
    here = decimal.getcontext()
    told, last = repr(here), _last_decimal
    if last is None or last[0] != told:
        last = _last_decimal = told, _settings_of(here)
    return last[1]


def _settings_of(here: decimal.Context) -> DecimalSettings:
    return DecimalSettings(
        here.prec,
        here.rounding,
        here.Emin,
        here.Emax,
        here.capitals,
        here.clamp,
        [signal for signal, is_set in here.flags.items() if is_set],
        [signal for signal, is_set in here.traps.items() if is_set],
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
    # Programs add one for each level of their own.
    added = {
        name: behind(value)
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
        told = None if _are_first(settings) else settings
        last = _last_numpy = settings, told
    return last[1]


def _are_first(settings: NumpySettings) -> bool:
    printing, errors = _FIRST_OF_NUMPY
    return settings.errors == errors and all(
        value == printing.get(name) for name, value in settings.printing.items()
    )
