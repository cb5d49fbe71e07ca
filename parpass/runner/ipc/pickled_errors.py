"""Exceptions as bytes, with what pickle drops: cause, context and traceback.

An exception is rebuilt (`parpass.errors.pickling`) with the exceptions that it is
linked to, and its traceback is rebuilt from names and positions, so it prints as in a
serial run (without the values of variables). An exception that cannot be pickled is
described by a `WorkerError`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import itertools
import pickle
import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any, cast

from parpass.errors import FunctionFailure, WorkerError
from parpass.errors.core import add_note, safe_getattr
from parpass.errors.pickling import reduce_exception, set_attributes
from parpass.runner.follow.module_finder import FOLLOWING_FILE
from parpass.runner.follow.pickling import Pickler
from parpass.transform.code_unpickler import unpickle

_MAX_FRAMES = 100  # frames kept at each end of a traceback
# The attributes that link an exception to others, with their defaults.
_UNLINKED = {"__cause__": None, "__context__": None, "__suppress_context__": False}
_LINKS = tuple(_UNLINKED)
# A frame: its file and name, and the lines and columns of the current expression.
_Frame = tuple[str, str, int, int | None, int | None, int | None]


class ProcessTraceback(Exception):  # noqa: N818 -- shown as a cause, never raised
    """The traceback of a process that ended, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def attach_process_traceback(error: FunctionFailure) -> None:
    """Make the traceback of the process that ended the cause of an error."""
    if error.traceback and error.__cause__ is None:
        error.__cause__ = ProcessTraceback(error.traceback)


def encode_error(error: BaseException) -> bytes:
    """Return an exception as bytes, or a description of one that cannot be pickled."""
    description, encoded = _encode_description(error), _encode_picklable(error)
    if encoded is None and isinstance(error, BaseExceptionGroup):
        with contextlib.suppress(Exception):  # a class of the program may raise any
            encoded = _encode_picklable(
                _describe_members(cast("BaseExceptionGroup[Any]", error))
            )
    return pickle.dumps((encoded or description, description))


def _encode_picklable(error: BaseException) -> bytes | None:
    """Return an exception as bytes that unpickle to its class; None if none do."""
    for has_links, use_custom in itertools.product((True, False), (False, True)):
        try:
            encoded = _dumps(error, has_links=has_links, use_custom=use_custom)
            if type(unpickle(encoded)) is type(error):
                return encoded
        except Exception:  # noqa: BLE001 -- a class of the program may raise any
            continue
    return None


def _is_picklable(error: BaseException) -> bool:
    """Return whether an exception can be pickled without its links."""
    try:
        encoded = _dumps(error, has_links=False)
        return type(unpickle(encoded)) is type(error)
    except Exception:  # noqa: BLE001 -- as above
        return False


def decode_error(message: bytes) -> BaseException:
    """Return the exception, or its description, that `encode_error` encoded."""
    encoded, description = pickle.loads(message)
    try:
        error = unpickle(encoded)
    except Exception:  # noqa: BLE001 -- a module may exist for the worker only
        error = unpickle(description)
    if isinstance(error, FunctionFailure):
        attach_process_traceback(error)
    return error


def _encode_description(error: BaseException) -> bytes:
    """Return, as bytes, a WorkerError with the text, traceback and notes of another."""
    described = WorkerError(_headline(error)).with_traceback(error.__traceback__)
    for note in safe_getattr(error, "__notes__", ()):
        add_note(described, str(note))
    return _dumps(described)


def _describe_members(group: BaseExceptionGroup[Any]) -> BaseException:
    """Return a copy of a group; members that cannot be pickled are described."""
    make, (kind, text, _, *rest), state, *_, put = reduce_exception(
        group, use_custom=False
    )
    members = [decode_error(encode_error(one)) for one in group.exceptions]
    made = make(kind, text, members, *rest)
    links = {name: getattr(group, name) for name in (*_LINKS, "__traceback__")}
    put(made, state | links)
    return made


def _headline(error: BaseException) -> str:
    try:
        return traceback.format_exception_only(type(error), error)[0].strip()
    except Exception:  # noqa: BLE001 -- a class of the program may raise any
        return type(error).__name__


def _dumps(
    error: BaseException, *, has_links: bool = True, use_custom: bool = False
) -> bytes:
    written = io.BytesIO()
    pickler = _Pickler(written)
    pickler.has_links, pickler.use_custom = has_links, use_custom
    pickler.dump(error)
    return written.getvalue()


class _Pickler(Pickler):
    """Pickles exceptions, also inside of other objects, with tracebacks and links.

    Attributes:
        has_links: Whether causes and contexts are pickled, too.
        use_custom: Whether classes that need it are pickled by their own `__reduce__`.
    """

    has_links = True
    use_custom = False

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, BaseException):
            return super().reducer_override(obj)
        use_custom = self.use_custom and not _is_picklable(obj)
        found = reduce_exception(obj, use_custom=use_custom)
        if isinstance(found, str):
            return found
        make, args, *rest = found
        state, items, pairs, put = [*rest, None, None, None, None][:4]
        links: dict[str, Any] = {}
        if self.has_links:
            links = {name: getattr(obj, name) for name in _LINKS}
        notes = safe_getattr(obj, "__notes__")
        if notes is not None:
            links["__notes__"] = notes
        frames = list(_frames(obj.__traceback__))
        return make, args, (state, put, links, frames), items, pairs, _rebuild


def _rebuild(error: BaseException, state: tuple[Any, ...]) -> None:
    own, put, links, frames = state
    if own is not None:
        (put or _set_state)(error, own)
    made = functools.reduce(_outer_traceback, reversed(frames), None)
    set_attributes(error, {**_UNLINKED, **links, "__traceback__": made})


def _set_state(error: Any, state: Any) -> None:
    error.__setstate__(state)


def _frames(tb: TracebackType | None) -> Iterator[_Frame]:
    whole = traceback.TracebackException(Exception, Exception(), tb, lookup_lines=False)
    # What a worker imports is followed, in frames that a serial run has not.
    frames = [one for one in whole.stack if one.filename != FOLLOWING_FILE]
    if len(frames) > 2 * _MAX_FRAMES:
        frames[_MAX_FRAMES:-_MAX_FRAMES] = []
    for one in frames:
        columns = one.end_lineno, one.colno, one.end_colno
        yield (one.filename, one.name, one.lineno or 1, *columns)


def _outer_traceback(inner: TracebackType | None, frame: _Frame) -> TracebackType:
    """Return a traceback with a frame around an inner traceback."""
    try:
        exec(_raising_code(*frame), {})
    except ZeroDivisionError as error:
        found = error.__traceback__
        assert found is not None
        assert found.tb_next is not None
        found = found.tb_next
        return TracebackType(inner, found.tb_frame, found.tb_lasti, frame[2])
    raise AssertionError("it did not raise")


@functools.lru_cache(maxsize=1_000)
def _raising_code(
    file: str,
    name: str,
    line: int,
    end_line: int | None,
    column: int | None,
    end_column: int | None,
) -> CodeType:
    """Return code that raises at a position, which makes a frame for it."""
    tree = ast.parse("1 / 0")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno, node.end_lineno = line, end_line or line
            node.col_offset, node.end_col_offset = column or 0, end_column or 0
    return compile(tree, file, "exec").replace(co_name=name, co_qualname=name)
