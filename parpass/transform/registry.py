"""The registry of passes: by name, for `required`, pipeline text and the command."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from parpass.errors import ArgumentError, UnknownPassError
from parpass.transform.passes import Pass

FactoryT = TypeVar("FactoryT", bound=Callable[..., Any])

_factories: dict[str, Callable[..., Pass]] = {}
_declared: list[str] = []


def register_pass(key: str) -> Callable[[FactoryT], FactoryT]:
    """Register a pass class, a factory or a pass under a key; a decorator.

    The last part of the key is the name by which pipelines and `required` find it.
    TVM's keys are `transform.NAME` and `relay._transform.NAME`. Put above
    `@function_pass(...)` it registers the pass that this makes.

    Raises:
        ArgumentError: The key is taken.
    """

    def register(factory: FactoryT) -> FactoryT:
        if key in _factories:
            raise ArgumentError(f"a pass is registered as '{key}' already")
        given = cast("object", factory)
        _factories[key] = _always(given) if isinstance(given, Pass) else factory
        return factory

    return register


def _always(a_pass: Pass) -> Callable[[], Pass]:
    return lambda: a_pass


def declare_passes(module_name: str) -> None:
    """Name a Python module that registers passes when it is imported.

    That happens when a pass is first looked up, so an IR may declare its passes early
    and still load them late.
    """
    _declared.append(module_name)


def registered_passes() -> Mapping[str, Callable[..., Pass]]:
    """Return the factories of all registered passes by short name, sorted."""
    _import_declared()
    return {_short(key): _factories[key] for key in sorted(_factories, key=_rank)}


def create_pass(name: str, options: Mapping[str, Any] | None = None) -> Pass:
    """Return a new pass by its name, or by its whole key.

    Raises:
        UnknownPassError: There is none; the message has the nearest names.
        ArgumentError: The pass does not take these options.
    """
    _import_declared()
    factory = _factories.get(name) or registered_passes().get(name)
    if factory is None:
        raise UnknownPassError(name, registered_passes())
    try:
        return factory(**(options or {}))
    except TypeError as error:
        raise ArgumentError(
            f"pass '{name}' cannot be made with options {dict(options or {})}: {error}"
        ) from error


def _import_declared() -> None:
    while _declared:
        importlib.import_module(_declared.pop())


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _rank(key: str) -> tuple[str, bool]:
    # Of several keys with one short name the last counts: TVM's `transform.NAME`.
    return _short(key), key.startswith("transform.")
