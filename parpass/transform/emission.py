"""Log records and warnings of pass bodies, kept to be emitted in serial order.

A serial run emits them as they come. A body that runs in a worker, or before its turn,
has them kept (`interception`), and the plan emits them when its walk comes to that
pass. Filters, handlers and the choice of warnings that are shown once are then those
of the process and the moment that they would have met in the serial run.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import warnings
from types import FrameType
from typing import Any, cast

import msgspec

from parpass.transform.record import Recorder, current_recorder, recording

# Of these a record can be pickled at once, and the pickle surely be read.
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})

_registries: dict[str, dict[Any, Any]] = {}  # of modules that are not loaded here


class KeptLogRecord(msgspec.Struct, frozen=True):
    """A log record.

    Attributes:
        content: Its attributes, pickled at once: what it tells of may change.
        text: Its message, should those come out unreadable; None if they cannot.
        function: The function that the pass was running on.
        said: How many diagnostics it had emitted before.
    """

    content: bytes
    text: str | None
    function: str | None
    said: int = 0

    @classmethod
    def of(cls, record: logging.LogRecord) -> KeptLogRecord:
        """Keep a record; what cannot be pickled is kept as text."""
        content = dict(vars(record))
        if record.exc_info:
            _detach_error(content)
        function = content.get("parpass_function")
        if _is_plain(content):
            return cls(pickle.dumps(content), None, function, _said_so_far())
        text = _message(record)
        packed = _pickled(content)
        if packed is None:
            content |= {"msg": text, "args": None}
            kept = {
                name: value if _pickled(value) else repr(value)
                for name, value in content.items()
            }
            packed = pickle.dumps(kept)
        return cls(packed, text, function, _said_so_far())

    def emit(self) -> None:
        """Give it to its logger."""
        try:
            content: dict[str, Any] = pickle.loads(self.content)  # from our own worker
        except Exception:  # noqa: BLE001 -- it could be read where it was written
            content = {"msg": self.text, "args": None, "levelno": logging.WARNING}
        record = logging.makeLogRecord(content)
        if record.process != os.getpid():
            # Levels are named, and time is counted, by this process.
            record.levelname = logging.getLevelName(record.levelno)
            now = logging.LogRecord("", 0, "", 0, "", None, None)
            elapsed = (record.created - now.created) * 1000
            record.relativeCreated = now.relativeCreated + elapsed
        logging.getLogger(record.name).handle(record)


def _is_plain(content: dict[str, Any]) -> bool:
    args = content["args"] or ()
    if not isinstance(args, tuple):
        return False
    values = [value for name, value in content.items() if name != "args"]
    values += cast("tuple[Any, ...]", args)
    return all(type(value) in _PLAIN for value in values)


def _detach_error(content: dict[str, Any]) -> None:
    """Leave the error without its frames, which stay where they are, and their text."""
    kind, error, _ = content["exc_info"]
    if not content["exc_text"]:
        text = logging.Formatter().formatException(content["exc_info"])
        content["exc_text"] = text
    is_portable = _pickled(error) is not None
    content["exc_info"] = (kind, error, None) if is_portable else None


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 -- handlers, too, tell of it and go on
        return str(record.msg)


def _pickled(value: Any) -> bytes | None:
    """Return a value as bytes that can be read again, None if there are none."""
    try:
        packed = pickle.dumps(value)
        pickle.loads(packed)
    except Exception:  # noqa: BLE001 -- whatever a user's class does in its __reduce__
        return None
    return packed


class KeptWarning(msgspec.Struct, frozen=True):
    """A warning, and where it is said to be.

    Attributes:
        message: The instance of the category, pickled.
        filename: The file that it is attributed to.
        lineno: The line.
        module: The module, None if nothing there was running.
        pass_name: The pass that was.
        function: The function that it was running on.
        said: How many diagnostics that had emitted before.
    """

    message: bytes
    filename: str
    lineno: int
    module: str | None
    pass_name: str | None
    function: str | None
    said: int = 0

    @classmethod
    def of(
        cls, message: Warning, filename: str, lineno: int, frame: FrameType | None
    ) -> KeptWarning:
        """Keep a warning that was issued below a frame."""
        packed = _pickled(message)
        if packed is None:
            bases = type(message).__mro__
            category = next(one for one in bases if _pickled(one) is not None)
            packed = pickle.dumps(category(str(message)))
        recorder = current_recorder()
        return cls(
            packed,
            filename,
            lineno,
            _module_at(filename, lineno, frame),
            None if recorder is None else recorder.pass_name,
            None if recorder is None else recorder.function_name,
            _said_so_far(),
        )

    def emit(self) -> None:
        """Issue it again, as if from where it came from."""
        message: Warning = pickle.loads(self.message)  # from our own worker
        registry = None if self.module is None else _registry(self.module)
        recorder = Recorder(None, self.pass_name)
        recorder.function_name = self.function
        with recording(recorder):  # logging.captureWarnings makes a log record of it
            warnings.warn_explicit(
                message,
                type(message),
                self.filename,
                self.lineno,
                self.module,
                registry,
            )


def _said_so_far() -> int:
    recorder = current_recorder()
    return 0 if recorder is None else recorder.said_so_far


def _module_at(filename: str, lineno: int, frame: FrameType | None) -> str | None:
    # Only the frame that a warning is attributed to knows the module, and only where
    # `stacklevel` points: it is looked for.
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


Emission = KeptLogRecord | KeptWarning


class _MarkingFactory:
    """Makes log records that say which pass was running on which function."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._make(*args, **kwargs)
        recorder = current_recorder()
        if recorder is not None:
            record.parpass_pass = recorder.pass_name
            record.parpass_function = recorder.function_name
        return record


def mark_log_records() -> None:
    """Have log records of passes carry `parpass_pass` and `parpass_function`.

    The factory of the user's, if there is one, makes them as before.
    """
    given = logging.getLogRecordFactory()
    if not isinstance(given, _MarkingFactory):
        logging.setLogRecordFactory(_MarkingFactory(given))
