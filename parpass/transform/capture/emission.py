"""Emissions of pass bodies, such as log records, kept to be emitted in serial order.

A serial run emits them as they occur. A body that runs in a worker, or out of its turn,
has its emissions captured (`intercept`), and the plan emits them when it reaches the
pass. Filters, handlers and the registry of warnings shown once are then those of the
process and the moment at which the serial run would have used them.

Emissions are pickled for the parent process. Classes that workers cannot import, such
as those of its `__main__`, go to them by value; for the parent they are pickled by
reference, since handlers and filters compare by identity. Errors and warnings are
rebuilt without calling their constructors (`parpass.errors.pickling`).
"""

from __future__ import annotations

import functools
import io
import logging
import os
import pickle
import sys
import warnings
from collections.abc import Mapping
from types import FrameType, FunctionType
from typing import Any, cast

import msgspec

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    get_renderer,
    rendering_capture,
)
from parpass.errors.pickling import reduce_exception
from parpass.program_modules import is_by_value
from parpass.transform.capture.recorder import Recorder, current_recorder, recording
from parpass.transform.capture.shown_warnings import registry_of

# The types whose values need no pickling.
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
# The attributes of a record that are those of the process which emits it.
_PROCESS_FIELDS = ("levelname", "thread", "threadName", "processName", "taskName")
# Python's names for the location of a warning beyond the stack.
_BELOW_STACK = frozenset({"sys", "<sys>"})

# Objects that are pickled here, and may come from another process, by module and name.
_known: dict[tuple[str, str], Any] = {}


class _Pickler(pickle.Pickler):
    use_custom = False

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, BaseException):
            return reduce_exception(obj, use_custom=self.use_custom)
        if not isinstance(obj, (type, FunctionType)):
            return NotImplemented
        name = obj.__qualname__
        if not is_by_value(obj.__module__) or "<locals>" in name:
            return NotImplemented
        _known[obj.__module__, name] = obj
        return _find, (obj.__module__, name)


def _find(module: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return _known[module, name]


def pickle_for_parent(value: Any) -> bytes | None:
    for use_custom in (False, True):
        file = io.BytesIO()
        pickler = _Pickler(file, protocol=5)
        pickler.use_custom = use_custom
        try:
            pickler.dump(value)
            if type(pickle.loads(file.getbuffer())) is type(value):
                return file.getvalue()
        except Exception:  # noqa: BLE001 -- a user's class may raise any
            continue
    return None


def unpickle_from_worker(packed: bytes) -> Any:
    return pickle.loads(packed)  # from our own worker


class BufferedLogRecord(msgspec.Struct, frozen=True):
    """A log record.

    Attributes:
        function: The function that the pass was running on.
        diagnostic_count: How many diagnostics the pass had reported before.
        remark_count: How many remarks it had made before.
        plain: The attributes of types that need no pickling.
        rest: The other attributes, pickled at once, since they may change.
        text: The message, in case it cannot be formatted later; None if it cannot be.
        kind: The class of the record, which is not pickled.
    """

    function: str | None
    diagnostic_count: int
    remark_count: int
    plain: Mapping[str, Any]
    rest: bytes | None = None
    text: str | None = None
    kind: Any = None

    @classmethod
    def of(cls, record: logging.LogRecord) -> BufferedLogRecord:
        """Return a record captured; if it cannot be pickled, it is kept as text."""
        content = dict(vars(record))
        if record.exc_info:
            _detach_error(content)
        where, kind = _location(), type(record)
        plain = {name: one for name, one in content.items() if _is_plain(one)}
        if len(plain) == len(content):
            return cls(*where, plain, kind=kind)
        rest = {name: one for name, one in content.items() if name not in plain}
        text = _message(record)
        packed = pickle_for_parent(rest)
        if packed is None:
            plain |= {"msg": text, "args": None}
            rest = {
                name: repr(one) if pickle_for_parent(one) is None else one
                for name, one in rest.items()
                if name not in plain
            }
            packed = pickle_for_parent(rest)
        return cls(*where, plain, packed, text, kind)

    def emit(self, _mod: Any) -> None:
        content = dict(self.plain)
        try:
            if self.rest is not None:
                content |= unpickle_from_worker(self.rest)
        except Exception:  # noqa: BLE001 -- it could be read where it was written
            content |= {"msg": self.text, "args": None}
        logger = logging.getLogger(content["name"])
        if self.kind is not None:  # it was made here
            record = self.kind.__new__(self.kind)
        else:
            record = _local_record(logger, content)
        vars(record).update(content)
        logger.handle(record)

    def at(self, created: float) -> BufferedLogRecord:
        """Return the record as if this process had made it at another `time.time()`."""
        msecs = float(int((created - int(created)) * 1000))
        now = {"created": created, "msecs": msecs, "process": os.getpid()}
        return msgspec.structs.replace(self, plain={**self.plain, **now}, kind=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return BufferedLogRecord, (
            self.function,
            self.diagnostic_count,
            self.remark_count,
            self.plain,
            self.rest,
            self.text,
        )


def _local_record(logger: logging.Logger, content: dict[str, Any]) -> logging.LogRecord:
    """Return a record made by the record factory of this process.

    `content` loses the attributes that this process sets.
    """
    given = content.get("args") or ()
    # Of a single mapping a record has made its arguments.
    args = cast("Any", given if isinstance(given, tuple) else (given,))
    record = logger.makeRecord(
        content["name"],
        content["levelno"],
        content["pathname"],
        content["lineno"],
        content.get("msg"),
        args,
        content.get("exc_info"),
        content["funcName"],
        None,
        content.get("stack_info"),
    )
    for name in _PROCESS_FIELDS:
        content.pop(name, None)
    elapsed = (content["created"] - record.created) * 1000
    content["relativeCreated"] = record.relativeCreated + elapsed
    return record


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(type(one) in _PLAIN for one in cast("tuple[Any, ...]", value))
    return type(value) in _PLAIN


def _location() -> tuple[str | None, int, int]:
    recorder = current_recorder()
    if recorder is None:
        return None, 0, 0
    counts = recorder.diagnostic_count, recorder.remark_count
    return recorder.function_name, *counts


def _detach_error(content: dict[str, Any]) -> None:
    """Replace the traceback of an error, whose frames stay here, by its text."""
    kind, error, _ = content["exc_info"]
    if not content["exc_text"]:
        text = logging.Formatter().formatException(content["exc_info"])
        content["exc_text"] = text
    is_portable = pickle_for_parent(error) is not None
    content["exc_info"] = (kind, error, None) if is_portable else None


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 -- handlers report it
        return str(record.msg)


class BufferedWarning(msgspec.Struct, frozen=True):
    """A warning, and the position that it is attributed to.

    The first three fields are as those of `BufferedLogRecord`.

    Attributes:
        pass_name: The pass that was running.
        message: The instance of the category, pickled.
        fallback: An instance of a base class that is known everywhere, pickled.
        module: The module; None if no module was running there.
        is_decided: Whether filters that the body installed have let it through.
    """

    function: str | None
    diagnostic_count: int
    remark_count: int
    pass_name: str | None
    message: bytes | None
    fallback: bytes
    filename: str
    lineno: int
    module: str | None
    is_decided: bool

    @classmethod
    def of(
        cls,
        message: Warning,
        filename: str,
        lineno: int,
        frame: FrameType | None,
        *,
        is_decided: bool,
    ) -> BufferedWarning:
        recorder = current_recorder()
        return cls(
            *_location(),
            None if recorder is None else recorder.pass_name,
            pickle_for_parent(message),
            _pickle_as_builtin(message),
            filename,
            lineno,
            _module_of_frame(filename, lineno, frame),
            is_decided,
        )

    def emit(self, _mod: Any) -> None:
        message = self._message()
        category, where = type(message), (self.filename, self.lineno)
        recorder = Recorder(None, self.pass_name)
        recorder.function_name = self.function
        with recording(recorder):  # logging.captureWarnings makes a log record of it
            if self.is_decided:
                warnings.showwarning(message, category, *where)
            elif self.module is None:
                warnings.warn_explicit(message, category, *where)
            else:
                registry = registry_of(self.module)
                warnings.warn_explicit(message, category, *where, self.module, registry)

    def _message(self) -> Warning:
        try:
            if self.message is not None:
                return unpickle_from_worker(self.message)
        except Exception:  # noqa: BLE001 -- it could be read where it was written
            pass
        return unpickle_from_worker(self.fallback)


class BufferedRegistryReset(msgspec.Struct, frozen=True):
    """A change of the warning filters, which resets the registry of shown warnings.

    `warnings.catch_warnings` makes one. The filters of a body are restored, or are
    those of another process, but warnings that were shown before may be shown again.
    """

    function: str | None
    diagnostic_count: int
    remark_count: int

    @classmethod
    def of_body(cls) -> BufferedRegistryReset:
        return cls(*_location())

    def emit(self, _mod: Any) -> None:
        with warnings.catch_warnings():
            pass


class BufferedRendering(msgspec.Struct, frozen=True):
    """Diagnostics that a body rendered itself, in a context that it created.

    The first three fields are as those of `BufferedLogRecord`. `sources` are the texts
    that the diagnostics refer to, if the context is of another module than the pass
    runs on.
    """

    function: str | None
    diagnostic_count: int
    remark_count: int
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] | None

    @classmethod
    def of(cls, diag_ctx: DiagnosticContext) -> BufferedRendering:
        diagnostics, recorder = tuple(diag_ctx.diagnostics), current_recorder()
        if recorder is not None and diag_ctx.module is recorder.module:
            return cls(*_location(), diagnostics, None)
        known: Mapping[str, str] = getattr(diag_ctx.module, "sources", None) or {}
        named = {one.span.source_name for one in diagnostics if one.span is not None}
        sources = {name: known[name] for name in named if name in known}
        return cls(*_location(), diagnostics, sources)

    def emit(self, mod: Any) -> None:
        """Render the diagnostics in this process; `mod` is the module of the pass."""
        of = mod if self.sources is None else _Sources(self.sources)
        diag_ctx = DiagnosticContext(of)
        diag_ctx.diagnostics.extend(self.diagnostics)
        keep = rendering_capture.get()
        (get_renderer() if keep is None else keep)(diag_ctx)


class _Sources(msgspec.Struct, frozen=True):
    """A module of which only the texts are known."""

    sources: Mapping[str, str]


def _pickle_as_builtin(message: Warning) -> bytes:
    for base in type(message).__mro__:
        if base.__module__ == "builtins":
            packed = pickle_for_parent(base(str(message)))
            if packed is not None:
                return packed
    raise AssertionError("a Warning can be pickled")


def _module_of_frame(filename: str, lineno: int, frame: FrameType | None) -> str | None:
    # Only the frame that a warning is attributed to knows the module, and only where
    # `stacklevel` points: it is looked for.
    if filename in _BELOW_STACK:
        return "sys"
    while frame is not None:
        if frame.f_lineno == lineno and frame.f_code.co_filename == filename:
            return frame.f_globals.get("__name__")
        frame = frame.f_back
    return None


Emission = (
    BufferedLogRecord | BufferedWarning | BufferedRegistryReset | BufferedRendering
)
