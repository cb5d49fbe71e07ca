"""Cloudpickle's pickler, with code objects that keep their file name.

From 3.1.3 on cloudpickle replaces it by `<dynamic-code>`. But tracebacks, warnings and
log records show the file name, and those of a serial run show the real one.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from types import CodeType
from typing import Any

import cloudpickle

_reduce_by_cloudpickle = cloudpickle.Pickler.dispatch_table[CodeType]


def _rebuild_code(make: Callable[..., CodeType], args: Any, file: str) -> CodeType:
    return make(*args).replace(co_filename=file)


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    make, args = _reduce_by_cloudpickle(code)
    return _rebuild_code, (make, args, code.co_filename)


class CodePickler(cloudpickle.Pickler):
    """Cloudpickle's pickler; code objects keep their `co_filename`."""

    dispatch_table = cloudpickle.Pickler.dispatch_table.new_child(
        {CodeType: _reduce_code}
    )


def dumps(value: Any) -> bytes:
    """Pickle a value, with code that other processes cannot import by value.

    Raises:
        Exception: A part of it cannot be pickled.
    """
    file = io.BytesIO()
    CodePickler(file, protocol=5).dump(value)
    return file.getvalue()
