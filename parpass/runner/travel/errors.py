"""Exceptions on their way from a worker: they arrive as they were raised there.

Pickle leaves out causes, contexts and tracebacks. So an exception is taken apart here:
it is made again (`parpass.errors.reduction`) with what it was linked to, and its
traceback from names and positions, so that it is printed as that of a serial run
(without the values of variables). What cannot travel is told of by a `WorkerError`.
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

from parpass.errors import FunctionFailure, WorkerError, add_note
from parpass.errors.base import attribute_of
from parpass.errors.reduction import reduced, set_attributes
from parpass.runner.travel.pickling import Pickler
from parpass.transform.by_value import unpack

_MOST_FRAMES = 100  # from the outermost, and as many from the innermost one

_UNLINKED = {"__cause__": None, "__context__": None, "__suppress_context__": False}
_LINKS = tuple(_UNLINKED)

# Where a frame is: file, name, and the lines and columns of what it was at.
_Frame = tuple[str, str, int, int | None, int | None, int | None]


class ProcessTraceback(Exception):  # noqa: N818 -- shown as a cause, never raised
    """Where a process was when it ended, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def show_where_it_ended(error: FunctionFailure) -> None:
    """Have tracebacks of an error show where the process was that is no more."""
    if error.traceback and error.__cause__ is None:
        error.__cause__ = ProcessTraceback(error.traceback)


def pack_error(error: BaseException) -> bytes:
    """Return an exception as bytes; it always comes through."""
    told, packed = _told(error), _packed(error)
    if packed is None and isinstance(error, BaseExceptionGroup):
        with contextlib.suppress(Exception):  # whatever a user's class does
            packed = _packed(_told_by_member(cast("BaseExceptionGroup[Any]", error)))
    return pickle.dumps((packed or told, told))


def _packed(error: BaseException) -> bytes | None:
    """Return an exception as bytes from which it is made again; None if it cannot."""
    for has_links, in_its_way in itertools.product((True, False), repeat=2):
        try:
            packed = _dumped(error, has_links=has_links, in_its_way=in_its_way)
            if type(unpack(packed)) is type(error):
                return packed
        except Exception:  # noqa: BLE001 -- whatever a user's class does
            continue
    return None


def unpack_error(message: bytes) -> BaseException:
    """Return an exception from a worker."""
    packed, told = pickle.loads(message)
    try:
        error = unpack(packed)
    except Exception:  # noqa: BLE001 -- what a worker could import may be unknown here
        error = unpack(told)
    if isinstance(error, FunctionFailure):
        show_where_it_ended(error)
    return error


def _told(error: BaseException) -> bytes:
    """Return, as bytes, what tells of an exception that may not come through itself."""
    told = WorkerError(_headline(error)).with_traceback(error.__traceback__)
    for note in attribute_of(error, "__notes__", ()):
        add_note(told, str(note))
    return _dumped(told)


def _told_by_member(group: BaseExceptionGroup[Any]) -> BaseException:
    """Return a group in which what does not come through is told of."""
    make, (kind, text, _, *rest), state, *_, put = reduced(group, in_its_way=False)
    members = [unpack_error(pack_error(one)) for one in group.exceptions]
    made = make(kind, text, members, *rest)
    links = {name: getattr(group, name) for name in (*_LINKS, "__traceback__")}
    put(made, state | links)
    return made


def _headline(error: BaseException) -> str:
    try:
        return traceback.format_exception_only(type(error), error)[0].strip()
    except Exception:  # noqa: BLE001 -- whatever a user's class does
        return type(error).__name__


def _dumped(
    error: BaseException, *, has_links: bool = True, in_its_way: bool = True
) -> bytes:
    written = io.BytesIO()
    pickler = _Pickler(written, protocol=5)
    pickler.has_links, pickler.in_its_way = has_links, in_its_way
    pickler.dump(error)
    return written.getvalue()


class _Pickler(Pickler):
    """Takes exceptions apart, wherever they are in what is pickled.

    Attributes:
        has_links: Whether their causes and contexts come with them.
        in_its_way: Whether their classes may say what they are made of.
    """

    has_links = True
    in_its_way = True

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, BaseException):
            return super().reducer_override(obj)
        found = reduced(obj, in_its_way=self.in_its_way)
        if isinstance(found, str):
            return found
        make, args, *rest = found
        state, items, pairs, put = [*rest, None, None, None, None][:4]
        links: dict[str, Any] = {}
        if self.has_links:
            links = {name: getattr(obj, name) for name in _LINKS}
        notes = attribute_of(obj, "__notes__")
        if notes is not None:
            links["__notes__"] = notes
        frames = list(_frames(obj.__traceback__))
        return make, args, (state, put, links, frames), items, pairs, _completed


def _completed(error: BaseException, state: tuple[Any, ...]) -> None:
    own, put, links, frames = state
    if own is not None:
        (put or _set_state)(error, own)
    made = functools.reduce(_above, reversed(frames), None)
    set_attributes(error, {**_UNLINKED, **links, "__traceback__": made})


def _set_state(error: Any, state: Any) -> None:
    error.__setstate__(state)


def _frames(tb: TracebackType | None) -> Iterator[_Frame]:
    told = traceback.TracebackException(Exception, Exception(), tb, lookup_lines=False)
    frames = list(told.stack)
    if len(frames) > 2 * _MOST_FRAMES:
        frames[_MOST_FRAMES:-_MOST_FRAMES] = []
    for one in frames:
        columns = one.end_lineno, one.colno, one.end_colno
        yield (one.filename, one.name, one.lineno or 1, *columns)


def _above(inner: TracebackType | None, frame: _Frame) -> TracebackType:
    """Return a traceback that goes on from a frame to the inner one."""
    try:
        exec(_raising(*frame), {})
    except ZeroDivisionError as error:
        found = error.__traceback__
        assert found is not None
        assert found.tb_next is not None
        found = found.tb_next
        return TracebackType(inner, found.tb_frame, found.tb_lasti, frame[2])
    raise AssertionError("it did not raise")


@functools.lru_cache(maxsize=1_000)
def _raising(
    file: str,
    name: str,
    line: int,
    end_line: int | None,
    column: int | None,
    end_column: int | None,
) -> CodeType:
    """Return code that raises at a place, to have a frame there."""
    tree = ast.parse("1 / 0")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno, node.end_lineno = line, end_line or line
            node.col_offset, node.end_col_offset = column or 0, end_column or 0
    return compile(tree, file, "exec").replace(co_name=name, co_qualname=name)
