"""Failures of codemods, with their positions in the file."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from parpass.integrations.codemod.source_file import CodemodFailure

# LibCST's native parser gives the place in its message, counted from 1 and from 0.
_PLACE = re.compile(r"error at (\d+):(\d+)")
# Frames of these packages are not the codemod's own.
_MACHINERY = ("parpass", "libcst", "ast")

Position = tuple[int | None, int | None]


def failure_of(error: Exception, data: bytes) -> CodemodFailure:
    """Return the failure that an error of a codemod, or of its parser, is.

    Args:
        error: What was raised.
        data: The file that it was raised on.
    """
    line, column = _position(error, data)
    syntax = is_parser_error(error) or isinstance(error, SyntaxError)
    message = getattr(error, "message", None) if is_parser_error(error) else None
    if isinstance(error, SyntaxError):
        message = error.msg
    kind, text = type(error).__name__, str(error) if message is None else str(message)
    return CodemodFailure(
        f"{kind}: {text}" if text else kind,
        line,
        column,
        "" if syntax else _raised_at(error),
        "".join(traceback.format_exception(error)),
    )


def is_parser_error(error: Exception) -> bool:
    """Return whether LibCST could not read the file, or a text that a codemod made."""
    libcst = sys.modules.get("libcst")
    return libcst is not None and isinstance(error, libcst.ParserSyntaxError)


def _position(error: Exception, data: bytes) -> Position:
    if is_parser_error(error) or isinstance(error, SyntaxError):
        return _position_of_syntax_error(error, data)
    if isinstance(error, UnicodeDecodeError) and bytes(error.object) in data:
        start = data.find(bytes(error.object)) + error.start
        return data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
    return _position_of_node(error)


def _position_of_syntax_error(error: Exception, data: bytes) -> Position:
    """Return where a text cannot be parsed, by the parser or by Python's own."""
    found = _PLACE.search(str(error))
    if found is not None and is_parser_error(error):
        return int(found[1]), int(found[2]) + 1
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return _position_of_python(error)
    try:
        ast.parse(data)
    except SyntaxError as own:
        return _position_of_python(own)
    except ValueError:  # a null byte
        start = data.find(b"\0")
        return data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
    return None, None  # what a codemod made, not the file


def _position_of_python(error: SyntaxError) -> Position:
    """Return where Python cannot parse; for an encoding it has 0 and -1."""
    return max(error.lineno or 1, 1), max(error.offset or 1, 1)


def _position_of_node(error: Exception) -> Position:
    """Return the place of the innermost node that the codemod was at."""
    libcst = sys.modules.get("libcst")
    if libcst is None:
        return None, None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    # As it was parsed, and as copies that codemods were given.
    trees = {id(tree): tree for tree in _values(frames, libcst.Module)}
    places: dict[Any, Any] = {}
    for tree in trees.values():
        # It may be the tree that is wrong.
        with contextlib.suppress(Exception):
            wrapper = libcst.MetadataWrapper(tree, unsafe_skip_copy=True)
            places |= wrapper.resolve(libcst.metadata.PositionProvider)
    for node in _values(reversed(frames), libcst.CSTNode):
        place = places.get(node)
        if place is not None and not isinstance(node, libcst.Module):
            return place.start.line, place.start.column + 1
    return None, None


def _values(frames: Iterable[FrameType], kind: type) -> Iterator[Any]:
    """Yield the variables of frames that are of a kind, the original node first."""
    for frame in frames:
        variables = frame.f_locals
        first = [variables.get(name) for name in ("original_node", "node", "self")]
        for value in [*first, *variables.values()]:
            if isinstance(value, kind):
                yield value


def _raised_at(error: Exception) -> str:
    """Return the innermost line of the codemod itself."""
    own = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in _MACHINERY:
            own = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    return own
