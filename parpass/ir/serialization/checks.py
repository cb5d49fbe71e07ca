"""Does a value fit the annotation of a field? For values that come from outside."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Misfit(NamedTuple):
    """Where in a value something is of the wrong kind, what it should be and is."""

    where: str
    expected: str
    found: str


Check = Callable[[Any], Misfit | None]


def check_of(annotation: Any) -> Check:
    """Return a check of values against an annotation: None means that a value fits."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return lambda _: None
    if origin in (typing.Union, types.UnionType):
        return _union(args)
    if origin is tuple:
        return _tuple_of(args[0]) if args[1:] == (...,) else _exact_tuple(args)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _instance(Mapping)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _instance(Sequence)
    if isinstance(annotation, type):
        return _plain(annotation)
    return lambda _: None  # a user's operator may say more than can be checked here


def _plain(kind: type) -> Check:
    exact: dict[type, tuple[type, ...]] = {
        int: (int,),
        bool: (bool,),
        float: (float, int),
    }
    if kind not in exact:
        return _instance(kind)
    wanted, name = exact[kind], kind.__name__
    return lambda value: None if type(value) in wanted else _misfit(name, value)


def _instance(kind: type) -> Check:
    name = "None" if kind is type(None) else kind.__name__
    return lambda value: None if isinstance(value, kind) else _misfit(name, value)


def _misfit(expected: str, value: Any) -> Misfit:
    return Misfit("", expected, type(value).__name__)


def _union(options: tuple[Any, ...]) -> Check:
    checks = [check_of(option) for option in options]

    def check(value: Any) -> Misfit | None:
        found: list[str] = []
        for one in checks:
            misfit = one(value)
            if misfit is None:
                return None
            found.append(misfit.expected)
        return _misfit(" or ".join(found), value)

    return check


def _tuple_of(item: Any) -> Check:
    check_item = check_of(item)

    def check(value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _misfit("a tuple", value)
        items = typing.cast("tuple[Any, ...]", value)
        return _first_misfit((check_item, one) for one in items)

    return check


def _exact_tuple(items: tuple[Any, ...]) -> Check:
    checks = [check_of(item) for item in items]

    def check(value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _misfit("a tuple", value)
        items = typing.cast("tuple[Any, ...]", value)
        if len(items) != len(checks):
            return Misfit("", f"{len(checks)} items", str(len(items)))
        return _first_misfit(zip(checks, items, strict=True))

    return check


def _first_misfit(items: Iterable[tuple[Check, Any]]) -> Misfit | None:
    for at, (check_item, one) in enumerate(items):
        misfit = check_item(one)
        if misfit is not None:
            return misfit._replace(where=f"[{at}]{misfit.where}")
    return None
