"""Marking what pass bodies log, and keeping what they log, warn of and render.

`logging` and `warnings` are the process's. While bodies run, log records are led
through here, so that they say which pass was running; while bodies run out of their
order, warnings are, too. All that is not said by such a body, in its own contextvars
context, goes on as if nothing stood in between; and when the last body has ended, all
is again what it was.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import operator
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextvars import ContextVar, Token
from types import FunctionType
from typing import Any, TextIO
from weakref import WeakKeyDictionary

from parpass.diagnostic import DiagnosticContext, keeps_renderings
from parpass.transform.saying.emission import (
    Emission,
    KeptForgetting,
    KeptLogRecord,
    KeptRendering,
    KeptWarning,
)
from parpass.transform.saying.record import current_recorder
from parpass.transform.shared_change import SharedChange

_tape: ContextVar[Tape | None] = ContextVar("parpass_tape", default=None)


class Tape:
    """Takes down what a body emits."""

    __slots__ = ("_as_it_was", "_filters", "_kept", "forgot")

    def __init__(self) -> None:
        self._kept: list[Emission] = []
        self._filters: Any = warnings.filters
        self._as_it_was = tuple(self._filters)
        self.forgot = False

    def keep(self, emission: Emission) -> None:
        """Add what is emitted."""
        self._kept.append(emission)

    def keep_rendering(self, diag_ctx: DiagnosticContext) -> None:
        """Add what is rendered."""
        self._kept.append(KeptRendering.of(diag_ctx))

    def keep_forgetting(self) -> None:
        """Add that it was forgotten which warnings were shown, if it was since then."""
        if warnings.showwarning is _shows.here:
            _probe()
            if self.forgot:
                self.forgot = False
                self._kept.append(KeptForgetting.of_body())

    def take(self) -> tuple[Emission, ...]:
        """Return all that was kept since this was last asked for."""
        self.keep_forgetting()
        if not self._kept:
            return ()
        kept = tuple(self._kept)
        self._kept.clear()
        return kept

    def decides_later(self) -> bool:
        """Return whether the filters are those that the body began with.

        If so they are asked when it is its turn; else those that it made decide.
        """
        filters: Any = warnings.filters
        return filters is self._filters and tuple(filters) == self._as_it_was


class keeping:  # noqa: N801 -- used like a function, as contextlib's own
    """Keep what is emitted while the block runs; gives the tape of it.

    It takes effect where `intercepting` is.

    Args:
        tape: Of what went before; by default a new one.
    """

    __slots__ = ("_rendering", "_tape", "_token")

    def __init__(self, tape: Tape | None = None) -> None:
        self._tape = tape

    def __enter__(self) -> Tape:
        tape = self._tape or Tape()
        self._token: Token[Tape | None] = _tape.set(tape)
        self._rendering = keeps_renderings.set(tape.keep_rendering)
        return tape

    def __exit__(self, *_: object) -> None:
        keeps_renderings.reset(self._rendering)
        _tape.reset(self._token)


def emit_all(
    emissions: Sequence[Emission], mod: Any
) -> tuple[Emission, Exception] | None:
    """Emit in order, of a pass that was run on a module.

    A handler or filter that raises ends it, as it ends a body: returned are the error
    and where it was met.
    """
    with marking:
        for emission in emissions:
            try:
                emission.emit(mod)
            except Exception as error:  # noqa: BLE001 -- it is returned
                return emission, error
    return None


# What is put in the place of the process's own functions, with what that leads to. It
# is made anew each time, as somebody who has wrapped an earlier one may still hold it.
_stand_ins: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def behind(value: Any) -> Any:
    """Return what a function of ours stands in for, anything else as it is.

    Somebody may have put an earlier one back, so there may be several.
    """
    while type(value) is FunctionType and value in _stand_ins:
        value = _stand_ins[value]
    return value


def _lead_records() -> Callable[[], None]:
    found = behind(logging.Logger.handle)

    def handle(self: logging.Logger, record: logging.LogRecord) -> None:
        recorder = current_recorder()
        if recorder is not None and not hasattr(record, "parpass_pass"):
            record.parpass_pass = recorder.pass_name
            record.parpass_function = recorder.function_name
        tape = _tape.get()
        if tape is None:
            found(self, record)
        else:
            tape.keep(KeptLogRecord.of(record))

    def undo() -> None:
        if logging.Logger.handle is handle:
            logging.Logger.handle = found

    _stand_ins[handle] = found
    logging.Logger.handle = handle
    return undo


class _Shows:
    """What shows warnings while they are led through here; None while they are not."""

    here: Any = None


_shows = _Shows()


def _lead_warnings() -> Callable[[], None]:
    found = behind(warnings.showwarning)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        tape = _tape.get()
        if category is _Probe:
            if tape is not None:
                tape.forgot = True
        elif tape is None or file is not None:
            found(message, category, filename, lineno, file, line)
        else:
            instance = message if isinstance(message, Warning) else category(message)
            decided, frame = not tape.decides_later(), inspect.currentframe()
            tape.keep_forgetting()
            tape.keep(
                KeptWarning.of(instance, filename, lineno, frame, is_decided=decided)
            )

    _stand_ins[show] = found
    _shows.here = warnings.showwarning = show
    put_back = _guard_filters()
    _probe()

    def undo() -> None:
        _shows.here = None
        put_back()
        if warnings.showwarning is show:
            warnings.showwarning = found

    return undo


# Records of bodies say which pass was running on which function.
marking = SharedChange(_lead_records)
_leading_warnings = SharedChange(_lead_warnings)


@contextlib.contextmanager
def intercepting() -> Generator[None]:
    """Have `keeping` take effect; several threads may be in here at once."""
    with marking, _leading_warnings:
        yield


class _Guard(type):
    """The class of categories that stand for others while something keeps warnings.

    A filter that shows some warnings only once would count one that is kept as shown.
    So a filter that keeps all of them stands before it, for those who keep.
    """

    stands_for: type[Warning]

    def __subclasscheck__(cls, subclass: type) -> bool:
        tape = _tape.get()
        return (
            tape is not None
            and issubclass(subclass, cls.stands_for)
            and subclass is not _Probe
            and tape.decides_later()
        )


@functools.lru_cache(maxsize=64)
def _guard_for(category: type[Warning]) -> type[Warning]:
    names = {"stands_for": category, "__module__": __name__}
    return _Guard(category.__name__, (Warning,), names)


_last_guarded: tuple[tuple[Any, ...], list[Any]] = (None,), []


def _guarded(filters: tuple[Any, ...]) -> list[Any]:
    """Return filters with guards, which nobody changes: mostly those of the last time.

    They are compared one by one, as equal ones may be of classes that differ.
    """
    global _last_guarded
    known, guarded = _last_guarded
    if len(known) != len(filters) or not all(map(operator.is_, known, filters)):
        guarded = [*_with_guards(filters)]
        _last_guarded = filters, guarded
    return guarded


def _with_guards(filters: Sequence[Any]) -> Iterator[Any]:
    yield ("default", None, _Probe, None, 0)
    for one in filters:
        action, message, category, module, lineno = one
        if action not in ("error", "ignore"):
            yield ("always", message, _guard_for(category), module, lineno)
        yield one
    yield ("always", None, _guard_for(Warning), None, 0)  # where no filter matches


def _guard_filters() -> Callable[[], None]:
    """Add guards to the filters; what puts back the very list that is there."""
    # A new list, as others may be going through the one that is there. What warnings
    # remember as shown, they forget when told of a change: they are not.
    found: Any = warnings.filters
    plain = filters_in_force()
    as_made = _guarded(tuple(plain))
    warnings.filters = ours = list(as_made)

    def put_back() -> None:
        nonlocal plain
        current: Any = warnings.filters
        if ours != as_made:  # somebody has changed the filters in force
            found[:] = plain = _without_guards(ours)
        # Somebody may have put a copy in its place, and mean to put it back.
        ours[:] = plain
        if current is ours:
            warnings.filters = found
        elif len(without := _without_guards(current)) < len(current):
            current[:] = without

    return put_back


def _without_guards(filters: Sequence[Any]) -> list[Any]:
    # In one go, as it is asked for each stage, and several times for small ones.
    return [
        one for one in filters if type(one[2]) is not _Guard and one[2] is not _Probe
    ]


def filters_in_force() -> list[Any]:
    """Return the warnings filters, those left out that stand here for keeping."""
    found: Any = warnings.filters
    return _without_guards(found)


class _Probe(Warning):
    """Issued to learn whether it was forgotten that it has been shown."""


_probing = _Probe("")
_probed: dict[Any, Any] = {}


def _probe() -> None:
    try:
        warnings.warn_explicit(_probing, _Probe, __name__, 1, __name__, _probed)
    except _Probe:  # all warnings are errors
        tape = _tape.get()
        if tape is not None:
            tape.forgot = True
