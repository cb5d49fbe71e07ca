"""Plain values in modules and classes of the program, which workers take over.

A worker has the variables of a module, and the attributes of a class, as their import
gave them. The coordinator may have set them since (`settings.STEP = 100`,
`MyPass.step = 100`). Those that are plain (numbers, strings, None, and tuples and
frozen sets of them) are sent with each stage and set in the worker.
"""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from types import ModuleType
from typing import Any, NamedTuple, cast

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_COMPOUND = frozenset({tuple, frozenset})
_KINDS = _PLAIN | _COMPOUND
_COMPARED_BY_REPR = _COMPOUND | {float, complex}  # (1,) or (True,), 0.0 or -0.0
_missing = object()
_Holder = type | ModuleType

# Encoded, by the name of a module, or `module:qualified.name` of a class.
PlainValues = Mapping[str, bytes]

_encoded: dict[str, _Encoded] = {}  # those of the last call
_decoded: dict[str, tuple[bytes, dict[str, Any]]] = {}  # those of a worker
_added: dict[str, set[str]] = {}  # what this worker did not have before


class _Encoded(NamedTuple):
    """The plain values of a module or class, encoded.

    Attributes:
        names: The names of all variables.
        may_be_plain: For each of them, whether its value may be plain, by its type.
        others: The opposite.
        found: The values of such kinds. They are not freed, so no other value has their
            identity.
        encoded: Those that are plain, by name.
    """

    names: Sequence[str]
    may_be_plain: Sequence[bool]
    others: Sequence[bool]
    found: Sequence[Any]
    encoded: bytes

    def is_of(self, variables: Mapping[str, Any]) -> bool:
        """Return whether variables have these plain values, and no more."""
        values = variables.values()
        # Not by equality: 1, True and 1.0 are equal.
        return (
            tuple(variables) == self.names
            and all(map(operator.is_, compress(values, self.may_be_plain), self.found))
            and _KINDS.isdisjoint(map(type, compress(values, self.others)))
        )


def encode_values(
    modules: Mapping[str, ModuleType], classes: Iterable[type]
) -> dict[str, bytes]:
    """Return the plain values of modules and classes, encoded, by their names.

    Classes that other processes cannot find by their names are left out: they are
    pickled by value, with their attributes.
    """
    holders: dict[str, _Holder] = dict(modules)
    for kind in classes:
        name = f"{kind.__module__}:{kind.__qualname__}"
        if name not in holders and _find_loaded(name) is kind:
            holders[name] = kind
    return {name: _encoded_values(name, holder) for name, holder in holders.items()}


def _encoded_values(name: str, holder: _Holder) -> bytes:
    # A copy, as other threads may set variables meanwhile.
    variables = vars(holder).copy()
    known = _encoded.get(name)
    if known is None or not known.is_of(variables):
        values = variables.values()
        may_be_plain = [type(value) in _KINDS for value in values]
        plain = {
            one: value
            for one, value in variables.items()
            if one[:2] != "__" and _is_plain(value)
        }
        known = _encoded[name] = _Encoded(
            tuple(variables),
            may_be_plain,
            [not one for one in may_be_plain],
            list(compress(values, may_be_plain)),
            pickle.dumps(plain, protocol=5),
        )
    return known.encoded


def sync_values(values: PlainValues, modules: Iterable[str] | None = None) -> None:
    """Set plain values in those modules and classes that are loaded in this process.

    What was set before and is not among the values any more is deleted, if it was not
    there before. `modules` limits all of it to these modules, with their classes.
    """
    only = None if modules is None else frozenset(modules)
    for name, encoded in values.items():
        if only is not None and name.partition(":")[0] not in only:
            continue
        holder = _find_loaded(name)
        if holder is None:
            continue
        known = _decoded.get(name)
        if known is None or known[0] != encoded:
            known = _decoded[name] = encoded, pickle.loads(encoded)
        _sync(name, holder, known[1])


def _sync(name: str, holder: _Holder, expected: dict[str, Any]) -> None:
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


def _find_loaded(name: str) -> _Holder | None:
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


def _is_plain(value: Any) -> bool:
    if type(value) not in _COMPOUND:
        return type(value) in _PLAIN
    parts = cast("Sequence[Any]", value)
    kinds = set(map(type, parts))
    return kinds <= _PLAIN or (kinds <= _KINDS and all(map(_is_plain, parts)))
