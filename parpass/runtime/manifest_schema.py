"""The form of a library's manifest, which is checked before any of it is used.

The digest of a file says that it is what was written, not that it was written by us.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from itertools import count, repeat
from typing import Any, cast

from parpass.errors.core import quoted
from parpass.runtime.dtypes import numpy_dtype, parts_of

# A type; a list of one kind; a mapping by str of one kind; alternatives; a record.
_DIMENSION = (int, str, type(None))
_PARAMETER = {
    "name": str,
    "dtype": str,
    "shape": ([_DIMENSION], type(None)),
    "is_array": bool,
    "is_written": bool,
}
_SIGNATURE = {
    "symbol": str,
    "parameters": [_PARAMETER],
    "passed": [[(str, int)]],
    "result": str,
    "workspace": int,
    "messages": [str],
}
_WEIGHT = {"name": str, "dtype": str, "shape": [int], "at": int}
_FORM = {
    "abi": int,
    "target": str,
    "architecture": str,
    "system": str,
    "features": [str],
    "functions": {str: _SIGNATURE},
    "entry": str,
    "versions": {str: str},
    "format": str,
    "code": int,
    "weights": [_WEIGHT],
    "graph": str,
    "module_name": str,
    "numpy_functions": {str: str},
}
_MOST_WORKSPACE = sys.maxsize // 2  # beyond, memory cannot even be asked for
_PASSED = ("data", "value", "dimension", "stride", "workspace", "result")


def check_manifest(said: Any, begin: int) -> dict[str, Any]:
    """Return a manifest that has been checked.

    Args:
        said: What its JSON says.
        begin: Where in its file it begins: code and weights are before that.

    Raises:
        ValueError: A part is missing, is of another kind, or is where nothing is.
    """
    _check(said, _FORM)
    if said["format"] not in ("so", "tar"):
        raise ValueError(f"expected format 'so' or 'tar', got '{said['format']}'")
    if not 0 <= said["code"] <= begin:
        raise ValueError(f"expected up to {begin} bytes of code, got {said['code']}")
    for weight in said["weights"]:
        nbytes = math.prod(weight["shape"]) * numpy_dtype(weight["dtype"]).itemsize
        is_there = 0 <= weight["at"] <= begin - nbytes
        if not is_there or min(weight["shape"], default=0) < 0:
            raise ValueError(
                f"expected weight '{weight['name']}' within {begin} bytes, got shape "
                f"{weight['shape']} at {weight['at']}"
            )
    for name, signature in said["functions"].items():
        _check_signature(name, signature)
    return said


def _check_signature(name: str, said: Mapping[str, Any]) -> None:
    if not 0 <= said["workspace"] <= _MOST_WORKSPACE:
        raise ValueError(f"no workspace of '{name}' has {said['workspace']} bytes")
    if said["result"]:
        numpy_dtype(said["result"])
    for one in said["parameters"]:
        if one["dtype"] or not one["is_array"]:
            parts_of(one["dtype"])
    for one in said["passed"]:
        if not _is_passed(one, said):
            raise ValueError(f"expected a part of an argument of '{name}', got {one}")


def _is_passed(one: list[Any], said: Mapping[str, Any]) -> bool:
    """Return whether this is what a `Passed` is, of an argument that there is."""
    if [type(part) for part in one] != [str, int, int] or one[0] not in _PASSED:
        return False
    what, argument, at = one
    if what in ("workspace", "result"):
        return bool(said[what])
    if not 0 <= argument < len(said["parameters"]):
        return False
    parameter = said["parameters"][argument]
    if what in ("dimension", "stride"):
        shape = parameter["shape"]
        return at >= 0 and (shape is None or at < len(shape))
    return parameter["is_array"] is (what == "data")


class _MisfitError(ValueError):
    """Something is not of its form.

    Args:
        text: What is expected, with `{}` for where.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.where = ""  # within what has been left so far

    def __str__(self) -> str:
        return str(self.args[0]).replace("{}", f"the manifest{self.where}")


def _check(value: Any, form: Any) -> None:
    if isinstance(form, tuple):
        if type(value) in form:
            return
        kinds = cast("tuple[Any, ...]", form)
        form = next((one for one in kinds if not isinstance(one, type)), kinds[0])
    kind = form if isinstance(form, type) else type(form)
    if type(value) is not kind:
        got = type(value).__name__
        raise _MisfitError(f"expected {{}} to be of type {kind.__name__}, got {got}")
    if isinstance(form, list):
        items = cast("list[Any]", value)
        _check_items(zip(count(), items, repeat(cast("Any", form[0]))))
    elif isinstance(form, dict):
        _check_mapping(value, cast("dict[Any, Any]", form))


def _check_mapping(value: dict[str, Any], form: dict[Any, Any]) -> None:
    if str in form:
        _check_items(zip(value, value.values(), repeat(form[str])))
        return
    if missing := form.keys() - value.keys():
        raise _MisfitError(f"expected {quoted(sorted(missing))} in {{}}")
    if unknown := value.keys() - form.keys():
        raise _MisfitError(f"expected no {quoted(sorted(unknown))} in {{}}")
    _check_items((name, value[name], one) for name, one in form.items())


def _check_items(items: Iterable[tuple[str | int, Any, Any]]) -> None:
    """Check values, each with where it is before it and its form behind it."""
    for at, value, form in items:
        if type(value) is form:
            continue
        try:
            _check(value, form)
        except _MisfitError as error:
            name = at if isinstance(at, int) else f"'{at:.40}'"
            error.where = f"[{name}]{error.where}"
            raise
