"""The check of an adapter's attributes, made once: where it is registered."""

from __future__ import annotations

import dataclasses
from types import UnionType
from typing import cast

from parpass.errors import AdapterError, ArgumentError
from parpass.errors.adapters import describe_value
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.checked_adapter import adapter_name, overrides


def check_attributes(adapter: ModuleAdapter) -> None:
    """Check that a value is an adapter, with attributes of the right kinds.

    Raises:
        ArgumentError: It is no adapter.
        AdapterError: An attribute of it is wrong.
    """
    given = cast("object", adapter)
    if not isinstance(given, ModuleAdapter):
        got = describe_value(given)
        advice = f"; create one: {given.__name__}()" if isinstance(given, type) else ""
        raise ArgumentError(
            f"expected a ModuleAdapter for an adapter, got {got}{advice}"
        )
    name = adapter_name(adapter)
    _check_types(adapter, name)
    for attribute in ("consumes_functions", "round_trip_between_passes"):
        value = getattr(adapter, attribute)
        if value.__class__ is not bool:
            raise AdapterError(name, attribute, "True or False", value)
    mutability: object = adapter.mutability
    if mutability is not None and not all(
        callable(getattr(mutability, method, None))
        for method in ("fingerprint", "to_change")
    ):
        expected = "None, or an object with 'fingerprint' and 'to_change'"
        raise AdapterError(name, "mutability", expected, mutability)


def _check_types(adapter: ModuleAdapter, name: str) -> None:
    """Check the types that the methods need which the adapter does not override."""
    modules: object = getattr(adapter, "module_type", None)
    functions: object = getattr(adapter, "function_type", None)
    if not (overrides(adapter, "is_module") or isinstance(modules, type)):
        advice = "set it, or override 'is_module'"
        raise AdapterError(name, "module_type", "the class of modules", modules, advice)
    if not (overrides(adapter, "with_functions") or _has_functions(modules)):
        expected = "a dataclass with a field 'functions'"
        advice = "for other modules, override 'functions' and 'with_functions'"
        raise AdapterError(name, "module_type", expected, modules, advice)
    is_kind = isinstance(functions, type | UnionType)
    if not (overrides(adapter, "is_function") or is_kind):
        expected = "a class of functions, or a union of classes,"
        advice = "set it, or override 'is_function'"
        raise AdapterError(name, "function_type", expected, functions, advice)


def _has_functions(kind: object) -> bool:
    """Return whether a class is a dataclass with a field `functions`."""
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return False
    return any(one.name == "functions" for one in dataclasses.fields(kind))
