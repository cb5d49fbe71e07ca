"""Interception of `logging` and `warnings` in pass bodies, to tag or capture them.

Both are process-wide. While bodies run, log records are tagged with the pass; while
bodies run out of their turn, log records and warnings are captured. Other code, in
other contextvars contexts, is unaffected. The process-wide patch is reference-counted,
and undone on the last exit.
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

from parpass.diagnostic import DiagnosticContext, rendering_capture
from parpass.fork_safety import ProcessPatch
from parpass.transform.capture.emission import (
    BufferedLogRecord,
    BufferedRegistryReset,
    BufferedRendering,
    BufferedWarning,
    Emission,
)
from parpass.transform.capture.recorder import current_recorder
from parpass.transform.capture.shown_warnings import KeptRegistries
from parpass.transform.variable_setting import setting

_buffer: ContextVar[EmissionBuffer | None] = ContextVar("parpass_buffer", default=None)
current_buffer = _buffer.get
# The functions that are patched in, with those that they replace. They are created
# anew for each patch, since a program that wrapped an earlier one may still hold it.
_originals: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_last_guarded: tuple[tuple[Any, ...], list[Any]] = (None,), []  # by `_cached_guards`
_probed: dict[Any, Any] = {}  # the registry of warnings in which `_probe` is shown


class EmissionBuffer:
    __slots__ = ("_emissions", "_filters", "_initial_filters", "was_reset")

    def __init__(self) -> None:
        self._emissions: list[Emission] = []
        self._filters: Any = warnings.filters
        self._initial_filters = tuple(self._filters)
        self.was_reset = False

    def __len__(self) -> int:
        return len(self._emissions)

    def append(self, emission: Emission) -> None:
        self._emissions.append(emission)

    def add_rendering(self, diag_ctx: DiagnosticContext) -> None:
        self._emissions.append(BufferedRendering.of(diag_ctx))

    def add_registry_reset(self) -> None:
        """Add a reset of the warning registry, unless it is the last emission."""
        if is_capturing_warnings():
            _probe()
            if self.was_reset:
                self.was_reset = False
                self._emissions.append(BufferedRegistryReset.of_body())

    def take(self) -> tuple[Emission, ...]:
        """Return the emissions of a body, at its end."""
        self.add_registry_reset()
        if not self.defers_filtering():  # the next body begins with these filters
            self._filters = warnings.filters
            self._initial_filters = tuple(self._filters)
        if not self._emissions:
            return ()
        emissions = tuple(self._emissions)
        self._emissions.clear()
        return emissions

    def defers_filtering(self) -> bool:
        """Return whether the warning filters are those at the start of the body.

        If so, they are applied when the warnings are emitted; else the filters that the
        body installed are applied at once.
        """
        filters: Any = warnings.filters
        return filters is self._filters and tuple(filters) == self._initial_filters


class capturing:  # noqa: N801 -- used like a function, as contextlib's own
    """Captures the emissions of the block; enters as the buffer.

    It takes effect inside `allowing_capture`. Of nested blocks each is of its own body:
    a reset of the warning registry is of the block that it happened in.
    """

    __slots__ = ("_inner", "_rendering", "_token")

    def __enter__(self) -> EmissionBuffer:
        buffer, outer = EmissionBuffer(), _buffer.get()
        self._inner = None if outer is None else buffer
        if outer is not None:
            outer.add_registry_reset()
        self._token: Token[EmissionBuffer | None] = _buffer.set(buffer)
        self._rendering = rendering_capture.set(buffer.add_rendering)
        return buffer

    def __exit__(self, *_: object) -> None:
        if self._inner is not None:
            self._inner.add_registry_reset()
        rendering_capture.reset(self._rendering)
        _buffer.reset(self._token)


def is_capturing() -> bool:
    return _buffer.get() is not None


def emit_all(
    emissions: Sequence[Emission], mod: Any
) -> tuple[Emission, Exception] | None:
    """Emit in order the emissions of a pass that ran on a module.

    Returns:
        The error of a handler or filter, which ends a body, too, and the emission at
        which it was raised; None if there was none.
    """
    with tagging_log_records:
        for emission in emissions:
            try:
                emission.emit(mod)
            except Exception as error:  # noqa: BLE001 -- it is returned
                return emission, error
    return None


def unwrap_patched(value: Any) -> Any:
    """Return the function that one of ours replaces; any other value as it is.

    The program may have restored an earlier one, so patches may be nested.
    """
    while type(value) is FunctionType and value in _originals:
        value = _originals[value]
    return value


def _patch_logging() -> Callable[[], None]:
    found = unwrap_patched(logging.Logger.handle)

    def handle(self: logging.Logger, record: logging.LogRecord) -> None:
        recorder = current_recorder()
        if recorder is not None and not hasattr(record, "parpass_pass"):
            record.parpass_pass = recorder.pass_name
            record.parpass_function = recorder.function_name
        buffer = _buffer.get()
        if buffer is None:
            found(self, record)
        else:
            buffer.append(BufferedLogRecord.of(record))

    def undo() -> None:
        if logging.Logger.handle is handle:
            logging.Logger.handle = found

    _originals[handle] = found
    logging.Logger.handle = handle
    return undo


class _InstalledHook:
    """The function that shows warnings, while it is replaced here; else None."""

    here: Any = None


_installed = _InstalledHook()


def _patch_warnings() -> Callable[[], None]:
    found = unwrap_patched(warnings.showwarning)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        buffer = _buffer.get()
        if category is _Probe:
            if buffer is not None:
                buffer.was_reset = True
        elif buffer is None or file is not None:
            found(message, category, filename, lineno, file, line)
        else:
            instance = message if isinstance(message, Warning) else category(message)
            decided, frame = not buffer.defers_filtering(), inspect.currentframe()
            buffer.add_registry_reset()
            buffer.append(
                BufferedWarning.of(
                    instance, filename, lineno, frame, is_decided=decided
                )
            )

    _originals[show] = found
    _installed.here = warnings.showwarning = show
    restore = _guard_filters()
    _probe()

    def undo() -> None:
        _installed.here = None
        restore()
        if warnings.showwarning is show:
            warnings.showwarning = found

    return undo


# Records of bodies say which pass was running on which function.
tagging_log_records = ProcessPatch(_patch_logging)
_patching_warnings = ProcessPatch(_patch_warnings)


@contextlib.contextmanager
def allowing_capture() -> Generator[None]:
    """Enable `capturing` in the block; several threads may enter it."""
    with tagging_log_records, _patching_warnings:
        yield


@contextlib.contextmanager
def allowing_capture_here() -> Generator[None]:
    """Enable `capturing` likewise in the process that will emit what is captured.

    What Python has shown is not changed by bodies in the block, and hidden from them.
    """
    with allowing_capture():
        kept = KeptRegistries(is_capturing, _stamp)
        try:
            yield
        finally:
            kept.restore()


def is_capturing_warnings() -> bool:
    """Return whether `capturing` captures warnings here.

    Not so where a body has replaced what shows them, such as by `catch_warnings`.
    """
    return warnings.showwarning is _installed.here


def shown_by() -> tuple[Any, Any]:
    return warnings.showwarning, warnings.filters


class _Guard(type):
    """The metaclass of categories that replace others while warnings are captured.

    A filter that shows a warning once would count one that is captured as shown. So a
    filter that always shows precedes it, for capturing contexts.
    """

    stands_for: type[Warning]

    def __subclasscheck__(cls, subclass: type) -> bool:
        buffer = _buffer.get()
        return (
            buffer is not None
            and issubclass(subclass, cls.stands_for)
            and subclass is not _Probe
            and buffer.defers_filtering()
        )


@functools.lru_cache(maxsize=64)
def _guard_for(category: type[Warning]) -> type[Warning]:
    names = {"stands_for": category, "__module__": __name__}
    return _Guard(category.__name__, (Warning,), names)


def _cached_guards(filters: tuple[Any, ...]) -> list[Any]:
    """Return filters with guards, which must not be changed; cached for the last ones.

    They are compared one by one, since equal filters may differ in their classes.
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
    """Add guards to the filters; return the function that restores the list."""
    # A new list, since other threads may iterate over the current one. The change is
    # not announced to `warnings`, which would reset its registries of shown warnings.
    found: Any = warnings.filters
    plain = active_filters()
    guarded = _cached_guards(tuple(plain))
    warnings.filters = ours = list(guarded)

    def restore() -> None:
        nonlocal plain
        current: Any = warnings.filters
        if ours != guarded:  # the program has changed the filters in force
            found[:] = plain = _without_guards(ours)
        # The program may hold this list, such as in `catch_warnings`, to restore it.
        ours[:] = plain
        if current is ours:
            warnings.filters = found
        elif len(without := _without_guards(current)) < len(current):
            current[:] = without

    return restore


def _without_guards(filters: Sequence[Any]) -> list[Any]:
    # A list comprehension, for speed: it is called for each stage, and more than once.
    return [
        one for one in filters if type(one[2]) is not _Guard and one[2] is not _Probe
    ]


def active_filters() -> list[Any]:
    found: Any = warnings.filters
    return _without_guards(found)


class _Probe(Warning):
    """A category issued to detect that the registry was reset."""


_probing = _Probe("")


def _probe(registry: dict[Any, Any] = _probed) -> None:
    try:
        warnings.warn_explicit(_probing, _Probe, __name__, 1, __name__, registry)
    except _Probe:  # all warnings are errors
        buffer = _buffer.get()
        if buffer is not None:
            buffer.was_reset = True


def _stamp(registry: dict[Any, Any]) -> None:
    """Make Python note in a registry which filters it is for, if nothing is shown."""
    if is_capturing_warnings():
        with setting(_buffer, None):  # no body has reset this one
            _probe(registry)
