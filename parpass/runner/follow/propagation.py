"""Contextvars whose values are sent to workers: `propagate` registers them.

A ContextVar cannot be pickled, so both sides identify it by its name. A reference of a
pass to a registered one becomes a reference to the contextvar with that name in the
worker. A worker that has not imported the definition creates a placeholder.

This module is apart from `snapshot` since `pickling` needs it, and importing it, as
programs do at the definition of a contextvar, loads next to nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from parpass.errors import RuntimeUseError

ValueT = TypeVar("ValueT")

_registered: dict[str, ContextVar[Any]] = {}
_placeholders: dict[str, ContextVar[Any]] = {}


def propagate(var: ContextVar[ValueT]) -> ContextVar[ValueT]:
    """Register a contextvar, so that passes in workers see its value.

    The value must be picklable. A value that a pass sets in a worker is not returned.

    Returns:
        The variable itself, so that you can register it where you define it:
            `request_id = propagate(ContextVar("request_id", default=""))`.

    Raises:
        RuntimeUseError: Another variable with that name is registered.
    """
    if _registered.setdefault(var.name, var) is not var:
        raise RuntimeUseError(
            f"another contextvar named '{var.name}' is propagated already; "
            "names tell them apart in the workers, so they must differ"
        )
    if var.name in _placeholders:  # a pass that is running imports the definition
        with contextlib.suppress(LookupError):
            var.set(_placeholders[var.name].get())
    return var


def propagated_values() -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, var in _registered.items():
        with contextlib.suppress(LookupError):
            values[name] = var.get()
    return values


@contextlib.contextmanager
def setting_contextvars(values: Mapping[str, Any]) -> Generator[None]:
    tokens = [var.set(value) for name, value in values.items() for var in _named(name)]
    try:
        yield
    finally:
        for token in tokens:
            token.var.reset(token)


def _named(name: str) -> list[ContextVar[Any]]:
    """Return the contextvars of a name: passes may refer to it or its placeholder."""
    known = (_registered.get(name), _placeholders.get(name))
    return [var for var in known if var is not None] or [_placeholder(name)]


def _placeholder(name: str) -> ContextVar[Any]:
    return _placeholders.setdefault(name, ContextVar(name))


def _var_named(name: str) -> ContextVar[Any]:
    return _registered.get(name) or _placeholder(name)


def reduce_contextvar(var: ContextVar[Any]) -> tuple[Any, ...]:
    if _registered.get(var.name) is not var:
        raise TypeError(
            f"cannot pickle the contextvar '{var.name}'; register it with "
            "parpass.propagate to have it in the workers"
        )
    return _var_named, (var.name,)
