"""Contextvars that reach the workers: `propagate` registers them.

A ContextVar cannot be pickled, so it is known by its name on both sides: where a pass
refers to a registered one, the worker finds its own of the same name.
"""

from __future__ import annotations

import contextlib
import copyreg
from collections.abc import Generator, Mapping
from contextvars import ContextVar, Token
from typing import Any, TypeVar

from parpass.errors import RuntimeUseError

ValueT = TypeVar("ValueT")

_registered: dict[str, ContextVar[Any]] = {}
_in_force: dict[str, Any] = {}  # in a worker: the values of the run that it works for


def propagate(var: ContextVar[ValueT]) -> ContextVar[ValueT]:
    """Register a contextvar whose value pass bodies shall see in the workers, too.

    Its value must be picklable. What a pass sets it to in a worker does not come back.

    Returns:
        The variable itself, so that it can be registered where it is defined:
        `request_id = propagate(ContextVar("request_id", default=""))`.

    Raises:
        RuntimeUseError: Another variable of that name is registered.
    """
    known = _registered.setdefault(var.name, var)
    if known is not var:
        if var.name not in _in_force:
            raise RuntimeUseError(
                f"another contextvar named '{var.name}' is propagated already; "
                "names tell them apart in the workers, so they must differ"
            )
        # A worker knew the name from the run before it imported the definition.
        _registered[var.name] = var
        var.set(_in_force[var.name])
    return var


def propagated_values() -> dict[str, Any]:
    """Return the values of registered contextvars, where set, by name."""
    unset = object()
    values = {name: var.get(unset) for name, var in _registered.items()}
    return {name: value for name, value in values.items() if value is not unset}


@contextlib.contextmanager
def values_in_force(values: Mapping[str, Any]) -> Generator[None]:
    """Give the registered contextvars these values while in the context."""
    _in_force.update(values)
    tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
    for name, value in values.items():
        var = _var_named(name)
        tokens.append((var, var.set(value)))
    try:
        yield
    finally:
        for var, token in tokens:
            var.reset(token)
        _in_force.clear()


def _var_named(name: str) -> ContextVar[Any]:
    known = _registered.get(name)
    if known is None:
        known = _registered[name] = ContextVar(name)
    return known


def _reduce(var: ContextVar[Any]) -> tuple[Any, ...]:
    if _registered.get(var.name) is not var:
        raise TypeError(
            f"cannot pickle the contextvar '{var.name}'; register it with "
            "parpass.propagate to have it in the workers"
        )
    return _var_named, (var.name,)


copyreg.pickle(ContextVar, _reduce)
