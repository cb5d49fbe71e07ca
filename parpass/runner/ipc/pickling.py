"""Pickling of code by value, of exceptions with tracebacks, and its diagnostics.

Code that a worker cannot import is pickled by value. What cannot be pickled is reported
by its path, such as `my_pass.rewriter.lock`.

Pickle drops the cause, context and traceback of an exception. `encode_error` keeps
them: the exception is rebuilt (`parpass.errors.pickling`) with the exceptions that it
is linked to, and its traceback is rebuilt from names and positions, so it prints as in
a serial run (without the values of variables). An exception that cannot be pickled is
described by a `WorkerError`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import itertools
import pickle
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FunctionType, TracebackType
from typing import Any, cast

import cloudpickle

from parpass.errors import FunctionFailure, WorkerError
from parpass.errors.core import add_note, safe_getattr
from parpass.errors.pickling import reduce_exception, set_attributes
from parpass.runner.ipc.propagation import reduce_contextvar
from parpass.transform.by_value import unpickle
from parpass.transform.code_pickler import CodePickler

_PROTOCOL = 5  # of pickle
_MAX_DEPTH = 8  # attributes of attributes; deeper paths are of no help
_MAX_FRAMES = 100  # frames kept at each end of a traceback
# The attributes that link an exception to others, with their defaults.
_UNLINKED = {"__cause__": None, "__context__": None, "__suppress_context__": False}
_LINKS = tuple(_UNLINKED)
# A frame: its file and name, and the lines and columns of the current expression.
_Frame = tuple[str, str, int, int | None, int | None, int | None]


class Pickler(CodePickler):
    """The pickler of cloudpickle, which also pickles registered contextvars."""

    dispatch_table = CodePickler.dispatch_table.new_child(
        {ContextVar: reduce_contextvar}
    )

    def reducer_override(self, obj: Any) -> Any:
        """Return the reduce value of an object, as cloudpickle does but faster.

        Cloudpickle searches tables in Python for each object, and modules for each
        class and function.
        """
        # Not `isinstance`, as an object may claim to be of another class.
        kind = cast("type[Any]", type(obj))
        if issubclass(kind, (type, FunctionType)):
            return obj.__qualname__ if _has_name(obj) else super().reducer_override(obj)
        for table in self.dispatch_table.maps:
            if kind in table:
                return NotImplemented
        return obj.__reduce_ex__(_PROTOCOL)


def _has_name(one: Any) -> bool:
    """Return whether other processes surely find a class or function by its name.

    Cloudpickle takes ten times as long to check that.
    """
    module = one.__module__
    if module == "__main__" or cloudpickle.list_registry_pickle_by_value():
        return False
    names = getattr(sys.modules.get(module), "__dict__", {})
    return names.get(one.__qualname__) is one


def pickle_by_value(message: Any) -> bytes:
    """Return an object as bytes, with all code that other processes cannot import.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    file = io.BytesIO()
    Pickler(file, protocol=5).dump(message)
    return file.getvalue()


def find_unpicklable(value: Any, name: str) -> str | None:
    """Return the path and error of the part that cannot be pickled; None if all can."""
    error = _pickle_error(value)
    if error is None:
        return None
    path, error = _innermost(value, name, error)
    return f"{path}: {type(error).__name__}: {error}"


def _innermost(value: Any, path: str, error: Exception) -> tuple[str, Exception]:
    """Return the path and error of the innermost part that cannot be pickled."""
    for _ in range(_MAX_DEPTH):
        for step, part in _parts(value):
            part_error = _pickle_error(part)
            if part_error is not None:
                value, path, error = part, path + step, part_error
                break
        else:
            break
    return path, error


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in cast("Mapping[Any, Any]", value).items():
            yield f"[{key!r}]", part
    elif isinstance(value, list | tuple | set | frozenset):
        for at, part in enumerate(cast("Sequence[Any]", value)):
            yield f"[{at}]", part
    else:
        yield from ((f".{name}", part) for name, part in _state(value).items())
        yield from _closure(value)


def _state(value: Any) -> dict[str, Any]:
    fields: Sequence[str] = getattr(value, "__struct_fields__", ())
    state = {name: getattr(value, name) for name in fields}
    return state | dict(getattr(value, "__dict__", {}))


def _closure(value: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(value, "__code__", None)
    if code is None:
        return
    cells: Sequence[Any] = value.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # a cell without a value
            yield f" (its variable '{name}')", cell.cell_contents
    for name in code.co_names:
        if name in value.__globals__:
            yield f" (the global '{name}')", value.__globals__[name]


def _pickle_error(value: Any) -> Exception | None:
    try:
        pickle_by_value(value)
    except Exception as error:  # noqa: BLE001 -- __reduce__ may raise anything
        return error
    return None


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
    for has_links, use_custom in itertools.product((True, False), repeat=2):
        try:
            encoded = _dumps(error, has_links=has_links, use_custom=use_custom)
            if type(unpickle(encoded)) is type(error):
                return encoded
        except Exception:  # noqa: BLE001 -- a class of the program may raise any
            continue
    return None


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
    error: BaseException, *, has_links: bool = True, use_custom: bool = True
) -> bytes:
    written = io.BytesIO()
    pickler = _Pickler(written, protocol=5)
    pickler.has_links, pickler.use_custom = has_links, use_custom
    pickler.dump(error)
    return written.getvalue()


class _Pickler(Pickler):
    """Pickles exceptions, also inside of other objects, with tracebacks and links.

    Attributes:
        has_links: Whether causes and contexts are pickled, too.
        use_custom: Whether the `__reduce__` of their classes is used.
    """

    has_links = True
    use_custom = True

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, BaseException):
            return super().reducer_override(obj)
        found = reduce_exception(obj, use_custom=self.use_custom)
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
    frames = list(whole.stack)
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
