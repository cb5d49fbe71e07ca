"""Contextvars that reach the workers: `propagate` registers them.

A ContextVar cannot be pickled, so it is known by its name on both sides: where a pass
refers to a registered one, the worker finds its own of the same name. A worker that has
not imported the definition makes one to hold its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from parpass.errors import RuntimeUseError

ValueT = TypeVar("ValueT")

_registered: dict[str, ContextVar[Any]] = {}
_place_holders: dict[str, ContextVar[Any]] = {}


def propagate(var: ContextVar[ValueT]) -> ContextVar[ValueT]:
    """Register a contextvar whose value pass bodies shall see in the workers, too.

    Its value must be picklable. What a pass sets it to in a worker does not come back.

    Returns:
        The variable itself, so that it can be registered where it is defined:
        `request_id = propagate(ContextVar("request_id", default=""))`.

    Raises:
        RuntimeUseError: Another variable of that name is registered.
    """
    if _registered.setdefault(var.name, var) is not var:
        raise RuntimeUseError(
            f"another contextvar named '{var.name}' is propagated already; "
            "names tell them apart in the workers, so they must differ"
        )
    if var.name in _place_holders:  # a pass that is running imports the definition
        with contextlib.suppress(LookupError):
            var.set(_place_holders[var.name].get())
    return var


def propagated_values() -> dict[str, Any]:
    """Return the values, or defaults, of registered contextvars by name."""
    values: dict[str, Any] = {}
    for name, var in _registered.items():
        with contextlib.suppress(LookupError):
            values[name] = var.get()
    return values


@contextlib.contextmanager
def values_in_force(values: Mapping[str, Any]) -> Generator[None]:
    """Give the registered contextvars these values while in the context."""
    tokens = [var.set(value) for name, value in values.items() for var in _named(name)]
    try:
        yield
    finally:
        for token in tokens:
            token.var.reset(token)


def _named(name: str) -> list[ContextVar[Any]]:
    """Return all that stand for a name: passes may have been sent with either."""
    known = (_registered.get(name), _place_holders.get(name))
    return [var for var in known if var is not None] or [_place_holder(name)]


def _place_holder(name: str) -> ContextVar[Any]:
    return _place_holders.setdefault(name, ContextVar(name))


def _var_named(name: str) -> ContextVar[Any]:
    return _registered.get(name) or _place_holder(name)


def reduced(var: ContextVar[Any]) -> tuple[Any, ...]:
    """Return how a registered contextvar is pickled; our own picklers use it.

    Raises:
        TypeError: It is not registered.
    """
    if _registered.get(var.name) is not var:
        raise TypeError(
            f"cannot pickle the contextvar '{var.name}'; register it with "
            "parpass.propagate to have it in the workers"
        )
    return _var_named, (var.name,)
