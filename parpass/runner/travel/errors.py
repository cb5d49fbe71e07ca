"""Exceptions on their way from a worker: they arrive as they were raised there.

What pickle keeps of an exception is its class, what its constructor was given, as far
as that is known, and its attributes. Constructors may take something else, causes and
contexts are left out, and so is the traceback. So an exception is taken apart here: it
is made without its constructor, with what it was linked to, and its traceback is made
again from names and positions, so that it is printed as that of a serial run (without
the values of variables). What cannot travel is told of by a `WorkerError`.
"""

from __future__ import annotations

import ast
import copyreg
import functools
import io
import pickle
import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any

import cloudpickle

from parpass.errors import FunctionFailure, WorkerError, add_note
from parpass.transform.by_value import unpack

_MOST_FRAMES = 100  # from the outermost, and as many from the innermost one

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
    told = _told(error)
    for pickler in (_Whole, _WithoutLinks):
        try:
            packed = _dumped(error, pickler)
            if type(unpack(packed)) is type(error):
                return pickle.dumps((packed, told))
        except Exception:  # noqa: BLE001 -- whatever a user's class does
            continue
    return pickle.dumps((told, told))


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
    headline = traceback.format_exception_only(type(error), error)[0].strip()
    told = WorkerError(headline).with_traceback(error.__traceback__)
    for note in getattr(error, "__notes__", ()):
        add_note(told, str(note))
    return _dumped(told, _Whole)


def _dumped(error: BaseException, pickler: type[_Whole]) -> bytes:
    written = io.BytesIO()
    pickler(written, protocol=5).dump(error)
    return written.getvalue()


class _Whole(cloudpickle.Pickler):
    """Takes exceptions apart, wherever they are in what is pickled."""

    has_links = True

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, BaseException):
            return super().reducer_override(obj)
        reduced = _reduced(obj)
        if isinstance(reduced, str):
            return reduced
        make, args, *rest = reduced
        state, items, pairs, put = [*rest, None, None, None, None][:4]
        links = (None, None, False)
        if self.has_links:
            links = obj.__cause__, obj.__context__, obj.__suppress_context__
        frames = list(_frames(obj.__traceback__))
        return make, args, (state, put, links, frames), items, pairs, _completed


class _WithoutLinks(_Whole):
    """The same, where a cause or a context cannot travel."""

    has_links = False


def _reduced(error: BaseException) -> Any:
    """Return what an exception is made of, as its own class or pickle says it."""
    kind = type(error)
    registered = copyreg.dispatch_table.get(kind)
    if registered is copyreg.dispatch_table.get(BaseException):
        registered = None  # of all exceptions, by a library that has its own way: tblib
    reduce = functools.partial(error.__reduce_ex__, 5)
    reduced: Any = reduce() if registered is None else registered(error)
    is_own = any(
        _defining(kind, name).__module__ != "builtins"
        for name in ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
    )
    if is_own or reduced[0] is not kind:
        return reduced
    _, args, *rest = reduced
    state = dict(rest[0] or {}) if rest else {}
    state |= {name: getattr(error, name) for name in _slots(kind, error)}
    return _made, (kind, *args), state, None, None, _set_attributes


def _defining(kind: type, name: str) -> type:
    return next(one for one in kind.__mro__ if name in vars(one))


def _slots(kind: type, error: BaseException) -> Iterator[str]:
    for one in kind.__mro__:
        names = vars(one).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            is_private = name.startswith("__") and not name.endswith("__")
            found = f"_{one.__name__.lstrip('_')}{name}" if is_private else name
            if found not in ("__dict__", "__weakref__") and hasattr(error, found):
                yield found


def _made(kind: type[BaseException], *args: Any) -> BaseException:
    """Return an exception that its class's own constructor has not seen."""
    builtin = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    error = builtin.__new__(kind, *args)
    builtin.__init__(error, *args)
    return error


def _set_attributes(error: BaseException, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(error, name, value)  # it may be frozen


def _completed(error: BaseException, state: tuple[Any, ...]) -> None:
    own, put, (cause, context, suppressed), frames = state
    if own is not None:
        (put or _set_state)(error, own)
    links = {"__cause__": cause, "__context__": context}
    traceback = functools.reduce(_above, reversed(frames), None)
    links |= {"__suppress_context__": suppressed, "__traceback__": traceback}
    _set_attributes(error, links)


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
