"""The form of a library's manifest, which is checked before any of it is used.

The digest of a file says that it is what was written, not that it was written by us.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, cast

from parpass.errors import quoted
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


def check_form(said: Any, begin: int) -> dict[str, Any]:
    """Return a manifest that has been checked.

    Args:
        said: What its JSON says.
        begin: Where in its file it begins: code and weights are before that.

    Raises:
        ValueError: A part is missing, is of another kind, or is where nothing is.
    """
    _check(said, _FORM, "the manifest")
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


def _check(value: Any, form: Any, where: str) -> None:
    if isinstance(form, tuple):
        kinds = cast("tuple[Any, ...]", form)
        plain = [one for one in kinds if isinstance(one, type)]
        if type(value) in plain:
            return
        form = next((one for one in kinds if not isinstance(one, type)), plain[0])
    kind = form if isinstance(form, type) else type(form)
    if type(value) is not kind:
        got = type(value).__name__
        raise ValueError(f"expected {where} to be of type {kind.__name__}, got {got}")
    if isinstance(form, list):
        for at, one in enumerate(value):
            _check(one, form[0], f"{where}[{at}]")
    elif isinstance(form, dict):
        _check_mapping(value, cast("dict[Any, Any]", form), where)


def _check_mapping(value: dict[str, Any], form: dict[Any, Any], where: str) -> None:
    if str in form:
        form = dict.fromkeys(value, form[str])
    if missing := form.keys() - value.keys():
        raise ValueError(f"expected {quoted(sorted(missing))} in {where}")
    if unknown := value.keys() - form.keys():
        raise ValueError(f"expected no {quoted(sorted(unknown))} in {where}")
    for name, one in form.items():
        _check(value[name], one, f"{where}['{name:.40}']")
