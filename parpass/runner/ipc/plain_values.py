"""Plain values in modules and classes of the program, which workers take over.

A worker has the variables of a module, and the attributes of a class, as their import
gave them. The coordinator may have set them since (`my_passes.STEP = 100`,
`MyPass.step = 100`). Those that are plain (numbers, strings, None, and tuples and
frozen sets of them) are sent with each stage and set in the worker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, cast

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_COMPOUND = frozenset({tuple, frozenset})
_PLAIN_OR_COMPOUND = _PLAIN | _COMPOUND
_COMPARED_BY_REPR = _COMPOUND | {float, complex}  # (1,) or (True,), 0.0 or -0.0
_missing = object()
_Holder = type | ModuleType

# By the name of a module, or `module:qualified.name` of a class.
PlainValues = Mapping[str, dict[str, Any]]

_added: dict[str, set[str]] = {}  # what this worker did not have before


def plain_values(
    modules: Iterable[ModuleType], classes: Iterable[type]
) -> dict[str, dict[str, Any]]:
    """Return the plain values of modules and classes, by their names.

    Classes that other processes cannot find by their names are left out: they are
    pickled by value, with their attributes.
    """
    holders: dict[str, _Holder] = {one.__name__: one for one in modules}
    for kind in classes:
        name = f"{kind.__module__}:{kind.__qualname__}"
        if name not in holders and _find(name) is kind:
            holders[name] = kind
    return {name: _plain_values_of(one) for name, one in holders.items()}


def sync_values(values: PlainValues) -> None:
    """Set plain values in those modules and classes that are loaded in this process.

    What was set before and is not among the values any more is deleted, if it was not
    there before.
    """
    for name, expected in values.items():
        holder = _find(name)
        if holder is None:
            continue
        current = vars(holder)
        for gone in _added.get(name, set()) - expected.keys():
            _added[name].discard(gone)
            if gone in current:
                _delete(holder, gone)
        for one, value in expected.items():
            now = current.get(one, _missing)
            if now is value:
                continue
            if _is_same(now, value):
                expected[one] = now  # identical, so not compared the next time
                continue
            if now is _missing:
                _added.setdefault(name, set()).add(one)
            _set(holder, one, value)


def _find(name: str) -> _Holder | None:
    """Return a loaded module, or a class of it; None if there is none."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for step in filter(None, path.split(".")):
        found = getattr(found, "__dict__", {}).get(step)
    return found if isinstance(found, _Holder) else None


# A metaclass may have its own ways to set attributes.


def _set(holder: _Holder, name: str, value: Any) -> None:
    if isinstance(holder, type):
        type.__setattr__(holder, name, value)
    else:
        vars(holder)[name] = value


def _delete(holder: _Holder, name: str) -> None:
    if isinstance(holder, type):
        type.__delattr__(holder, name)
    else:
        del vars(holder)[name]


def _is_same(one: Any, other: Any) -> bool:
    """Return whether plain values are equal and of one type, unlike 1, True and 1.0."""
    if type(one) is not type(other) or one != other:
        return False
    return type(one) not in _COMPARED_BY_REPR or repr(one) == repr(other)


def _plain_values_of(holder: _Holder) -> dict[str, Any]:
    return {
        name: value
        for name, value in tuple(vars(holder).items())
        if type(value) in _PLAIN_OR_COMPOUND
        and not name.startswith("__")
        and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    if type(value) not in _COMPOUND:
        return type(value) in _PLAIN
    parts = cast("Sequence[Any]", value)
    kinds = set(map(type, parts))
    return kinds <= _PLAIN or (
        kinds <= _PLAIN_OR_COMPOUND and all(map(_is_plain, parts))
    )
