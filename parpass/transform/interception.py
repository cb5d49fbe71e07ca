"""Keeping what pass bodies log and warn of, instead of emitting it.

`logging` and `warnings` are the process's. While bodies run out of their order, both
are led through here, and all that is not said by such a body, in its own contextvars
context, goes on as if nothing stood in between.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextvars import ContextVar, Token
from typing import Any, TextIO

from parpass.transform.emission import (
    Emission,
    KeptLogRecord,
    KeptWarning,
    mark_log_records,
)

_tape: ContextVar[list[Emission] | None] = ContextVar("parpass_tape", default=None)

_lock = threading.Lock()
_users = 0
_handle: Any = logging.Logger.handle
_show: Callable[..., None] = warnings.showwarning


class keeping:  # noqa: N801 -- used like a function, as contextlib's own
    """Keep what is emitted while the block runs; gives the list of it, to be emptied.

    It takes effect where `intercepting` is.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> list[Emission]:
        tape: list[Emission] = []
        self._token: Token[list[Emission] | None] = _tape.set(tape)
        return tape

    def __exit__(self, *_: object) -> None:
        _tape.reset(self._token)


@contextlib.contextmanager
def intercepting() -> Generator[None]:
    """Have `keeping` take effect; several threads may be in here at once."""
    global _users
    with _lock:
        if _users == 0:
            _step_in()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _step_out()


def _step_in() -> None:
    global _handle, _show
    mark_log_records()
    # Somebody who saved and restored them meanwhile may have put ours back.
    if logging.Logger.handle is not _keep_record:
        _handle = logging.Logger.handle
    if warnings.showwarning is not _keep_warning:
        _show = warnings.showwarning
    logging.Logger.handle = _keep_record
    warnings.showwarning = _keep_warning
    _set_filters([*_with_guards(filters_in_force())])


def _step_out() -> None:
    if logging.Logger.handle is _keep_record:
        logging.Logger.handle = _handle
    if warnings.showwarning is _keep_warning:
        warnings.showwarning = _show
    _set_filters(filters_in_force())


def _keep_record(self: logging.Logger, record: logging.LogRecord) -> None:
    tape = _tape.get()
    if tape is None:
        _handle(self, record)
    else:
        tape.append(KeptLogRecord.of(record))


def _keep_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    tape = _tape.get()
    if tape is None or file is not None:
        _show(message, category, filename, lineno, file, line)
        return
    instance = message if isinstance(message, Warning) else category(message)
    frame = inspect.currentframe()
    tape.append(KeptWarning.of(instance, filename, lineno, frame))


class _Guard:
    """What a filter's message must match, and something must be keeping warnings.

    A filter that shows some warnings only once would count one that is kept as shown.
    So a filter that keeps all of them stands before it, for those who keep.
    """

    __slots__ = ("_message",)

    def __init__(self, message: Any) -> None:
        self._message = message

    def match(self, text: str) -> bool:
        """Return whether it does; the name is that of a compiled pattern's method."""
        if _tape.get() is None:
            return False
        wanted = self._message
        if wanted is None or isinstance(wanted, str):
            return wanted in (None, text)
        return wanted.match(text) is not None


def _with_guards(filters: Sequence[Any]) -> Iterator[Any]:
    for one in filters:
        action, message, category, module, lineno = one
        if action not in ("error", "ignore"):
            yield ("always", _Guard(message), category, module, lineno)
        yield one
    if getattr(warnings, "defaultaction", "default") not in ("error", "ignore"):
        yield ("always", _Guard(None), Warning, None, 0)


def filters_in_force() -> list[Any]:
    """Return the warnings filters, those left out that stand here for keeping."""
    found: Sequence[Any] = warnings.filters
    return [one for one in found if not isinstance(one[1], _Guard)]


def _set_filters(filters: list[Any]) -> None:
    # A new list, as others may be going through the one that is there. What warnings
    # remember as shown, they forget when told of a change: they are not.
    warnings.filters = filters
