"""What pass bodies log, warn of and render, kept to be emitted in serial order.

A serial run emits them as they come. A body that runs in a worker, or before its turn,
has them kept (`interception`), and the plan emits them when its walk comes to that
pass. Filters, handlers and the choice of warnings that are shown once are then those
of the process and the moment that they would have met in the serial run.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Mapping
from types import FrameType
from typing import Any, cast

import msgspec

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    get_renderer,
    keeps_renderings,
)
from parpass.transform.saying.homeward import packed_for_home, unpacked_at_home
from parpass.transform.saying.record import Recorder, current_recorder, recording

# Of these a value can be kept as it is, and surely be read elsewhere.
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})

# What a record says of where it is emitted, and is found out there.
_LOCAL = ("levelname", "thread", "threadName", "processName", "taskName")

_BEYOND = frozenset({"sys", "<sys>"})  # Python's names for what is beyond the stack

_registries: dict[str, dict[Any, Any]] = {}  # of modules that are not loaded here


class KeptLogRecord(msgspec.Struct, frozen=True):
    """A log record.

    Attributes:
        function: The function that the pass was running on.
        said: How many diagnostics it had reported by then.
        plain: Its attributes, of types that need no pickling.
        rest: The others, pickled at once: what they tell of may change.
        text: Its message, should that come out unreadable; None if it cannot.
        kind: Its class, which does not travel.
    """

    function: str | None
    said: int
    plain: Mapping[str, Any]
    rest: bytes | None = None
    text: str | None = None
    kind: Any = None

    @classmethod
    def of(cls, record: logging.LogRecord) -> KeptLogRecord:
        """Keep a record; what cannot be pickled is kept as text."""
        content = dict(vars(record))
        if record.exc_info:
            _detach_error(content)
        function, said, kind = *_place(), type(record)
        plain = {name: one for name, one in content.items() if _is_plain(one)}
        if len(plain) == len(content):
            return cls(function, said, plain, kind=kind)
        rest = {name: one for name, one in content.items() if name not in plain}
        text = _message(record)
        packed = packed_for_home(rest)
        if packed is None:
            plain |= {"msg": text, "args": None}
            rest = {
                name: repr(one) if packed_for_home(one) is None else one
                for name, one in rest.items()
                if name not in plain
            }
            packed = packed_for_home(rest)
        return cls(function, said, plain, packed, text, kind)

    def emit(self, _mod: Any) -> None:
        """Give it to its logger."""
        content = dict(self.plain)
        try:
            if self.rest is not None:
                content |= unpacked_at_home(self.rest)
        except Exception:  # noqa: BLE001 -- it could be read where it was written
            content |= {"msg": self.text, "args": None}
        logger = logging.getLogger(content["name"])
        if self.kind is not None:  # it was made here
            record = self.kind.__new__(self.kind)
        else:
            record = _made_here(logger, content)
        vars(record).update(content)
        logger.handle(record)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptLogRecord, (
            self.function,
            self.said,
            self.plain,
            self.rest,
            self.text,
        )


def _made_here(logger: logging.Logger, content: dict[str, Any]) -> logging.LogRecord:
    """Return a record as the factory of this process makes it, where the body is run.

    `content` loses what is this process's to say.
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
    for name in _LOCAL:
        content.pop(name, None)
    elapsed = (content["created"] - record.created) * 1000
    content["relativeCreated"] = record.relativeCreated + elapsed
    return record


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(type(one) in _PLAIN for one in cast("tuple[Any, ...]", value))
    return type(value) in _PLAIN


def _place() -> tuple[str | None, int]:
    recorder = current_recorder()
    if recorder is None:
        return None, 0
    return recorder.function_name, recorder.said_so_far


def _detach_error(content: dict[str, Any]) -> None:
    """Leave the error without its frames, which stay where they are, and their text."""
    kind, error, _ = content["exc_info"]
    if not content["exc_text"]:
        text = logging.Formatter().formatException(content["exc_info"])
        content["exc_text"] = text
    is_portable = packed_for_home(error) is not None
    content["exc_info"] = (kind, error, None) if is_portable else None


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 -- handlers, too, tell of it and go on
        return str(record.msg)


class KeptWarning(msgspec.Struct, frozen=True):
    """A warning, and where it is said to be.

    Attributes:
        function: The function that the pass was running on.
        said: How many diagnostics it had reported by then.
        pass_name: The pass that was running.
        message: The instance of the category, pickled.
        plainer: The same of a base class that is known everywhere.
        filename: The file that it is attributed to.
        lineno: The line.
        module: The module, None if nothing there was running.
        is_decided: Whether filters of the body's own have let it through.
    """

    function: str | None
    said: int
    pass_name: str | None
    message: bytes | None
    plainer: bytes
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
    ) -> KeptWarning:
        """Keep a warning that was issued below a frame."""
        recorder = current_recorder()
        return cls(
            *_place(),
            None if recorder is None else recorder.pass_name,
            packed_for_home(message),
            _plainer(message),
            filename,
            lineno,
            _module_at(filename, lineno, frame),
            is_decided,
        )

    def emit(self, _mod: Any) -> None:
        """Issue it again, as if from where it came from."""
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
                registry = _registry(self.module)
                warnings.warn_explicit(message, category, *where, self.module, registry)

    def _message(self) -> Warning:
        try:
            if self.message is not None:
                return unpacked_at_home(self.message)
        except Exception:  # noqa: BLE001 -- it could be read where it was written
            pass
        return unpacked_at_home(self.plainer)


class KeptForgetting(msgspec.Struct, frozen=True):
    """A change of the filters of warnings, by which it is forgotten what was shown.

    `warnings.catch_warnings` is one. What a body changes is changed back, or is in its
    own process; but what was shown before may then be shown again.
    """

    function: str | None
    said: int

    @classmethod
    def of_body(cls) -> KeptForgetting:
        """Keep that the body has made one."""
        return cls(*_place())

    def emit(self, _mod: Any) -> None:
        """Have it forgotten here."""
        with warnings.catch_warnings():
            pass


class KeptRendering(msgspec.Struct, frozen=True):
    """Diagnostics that a body has rendered itself, in a context that it made.

    Attributes:
        function: The function that the pass was running on.
        said: How many diagnostics it had reported by then.
        diagnostics: What was rendered.
        sources: The texts that these tell of, if the context is of another module than
            the pass was run on.
    """

    function: str | None
    said: int
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] | None

    @classmethod
    def of(cls, diag_ctx: DiagnosticContext) -> KeptRendering:
        """Keep what a context holds."""
        said, recorder = tuple(diag_ctx.diagnostics), current_recorder()
        if recorder is not None and diag_ctx.module is recorder.module:
            return cls(*_place(), said, None)
        known: Mapping[str, str] = getattr(diag_ctx.module, "sources", None) or {}
        named = {one.span.source_name for one in said if one.span is not None}
        sources = {name: known[name] for name in named if name in known}
        return cls(*_place(), said, sources)

    def emit(self, mod: Any) -> None:
        """Have it rendered here; `mod` is what the pass was run on."""
        of = mod if self.sources is None else _Sources(self.sources)
        diag_ctx = DiagnosticContext(of)
        diag_ctx.diagnostics.extend(self.diagnostics)
        keep = keeps_renderings.get()
        (get_renderer() if keep is None else keep)(diag_ctx)


class _Sources(msgspec.Struct, frozen=True):
    """A module of which only the texts are known."""

    sources: Mapping[str, str]


def _plainer(message: Warning) -> bytes:
    for base in type(message).__mro__:
        if base.__module__ == "builtins":
            packed = packed_for_home(base(str(message)))
            if packed is not None:
                return packed
    raise AssertionError("a Warning can be pickled")


def _module_at(filename: str, lineno: int, frame: FrameType | None) -> str | None:
    # Only the frame that a warning is attributed to knows the module, and only where
    # `stacklevel` points: it is looked for.
    if filename in _BEYOND:
        return "sys"
    while frame is not None:
        if frame.f_lineno == lineno and frame.f_code.co_filename == filename:
            return frame.f_globals.get("__name__")
        frame = frame.f_back
    return None


def _registry(module: str) -> dict[Any, Any]:
    """Return where it is remembered which warnings a module has issued."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return _registries.setdefault(module, {})
    return vars(loaded).setdefault("__warningregistry__", {})


Emission = KeptLogRecord | KeptWarning | KeptForgetting | KeptRendering
