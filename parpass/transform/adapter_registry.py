"""The registry of adapters by type of module, and the lifting of values to modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from parpass.entry_points import ir_named
from parpass.errors import (
    AdapterError,
    ArgumentError,
    EntryPointError,
    PassInputError,
    UnknownPassError,
)
from parpass.errors.adapters import describe_value
from parpass.errors.core import describe_kind, did_you_mean, quoted
from parpass.replicated_tables import ReplicatedTable
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapter_attributes import check_attributes
from parpass.transform.checked_adapter import adapter_name, checked, unchecked
from parpass.transform.pass_registry import ConstantFactory, registered_passes
from parpass.transform.passes import Pass, Sequential
from parpass.transform.program_format import register_programs

_adapters: ReplicatedTable[type, ModuleAdapter] = ReplicatedTable("adapter of")

_UNNAMED = Sequential([]).info.name
_MAX_NAMED = 4  # passes of a pipeline that a message names
_MAX_LISTED = 12  # passes of an IR that a message lists

_module_types: dict[str, type] = {}  # the module type of a package's passes


def register_adapter(
    module_type: type, adapter: ModuleAdapter, *, passes_in: Sequence[str] = ()
) -> None:
    """Register the adapter of a module type and its subclasses.

    Args:
        module_type: The type.
        adapter: The adapter.
        passes_in: Packages whose passes, and subclasses of those, apply only to such
            modules. Passes of other packages apply to any module.

    Raises:
        ArgumentError: `module_type` is not a class, or `adapter` is not an adapter.
        AdapterError: An attribute of the adapter is invalid.
    """
    if not isinstance(cast("object", module_type), type):
        raise ArgumentError(
            f"expected a class of modules, got {describe_value(module_type)}"
        )
    adapter = unchecked(adapter)  # it may come from `adapter_of`
    check_attributes(adapter)
    _adapters[module_type] = adapter
    _module_types.update(dict.fromkeys(passes_in, module_type))
    _module_type_of.cache_clear()
    if adapter.ir_name:
        register_programs(adapter)


def pass_input_error(pass_: Pass, adapter: ModuleAdapter) -> PassInputError | None:
    """Return the error for a pass that is called on modules of another IR, or None."""
    wrong = _other_ir(type(pass_).__mro__, adapter)
    if wrong is None:
        return None
    expected, given = wrong
    name = pass_.info.name
    return PassInputError(
        f"pass '{name}' expected {expected.__name__}, got {given.__name__}: it "
        "belongs to another IR and runs only on its programs",
        pass_name=name,
    )


def accepts_passes_of(adapter: ModuleAdapter, factory: Callable[..., Any]) -> bool:
    return _other_ir(_definitions(factory), adapter) is None


def foreign_pass_message(
    name: str, factory: Callable[..., Any], adapter: ModuleAdapter
) -> str | None:
    """Return the message for a pass of another IR in pipeline text, or None.

    It offers passes of the IR of `adapter`.
    """
    wrong = _other_ir(_definitions(factory), adapter)
    if wrong is None:
        return None
    known, has = _passes_of(adapter)
    near = did_you_mean(name, known) or (f"; {has}" if has else "")
    expected, given = wrong
    return f"pass '{name}' runs on {expected.__name__}, not {given.__name__}{near}"


def unknown_pass_error(
    name: str,
    adapter: ModuleAdapter | None,
    *,
    also: Iterable[str] = (),
    wanted_by: str = "",
) -> UnknownPassError:
    """Return the error for an unknown pass; it offers near names of passes and `also`.

    With an adapter it offers passes of that IR alone.
    """
    known, has = (registered_passes(), "") if adapter is None else _passes_of(adapter)
    return UnknownPassError(name, [*known, *also], wanted_by=wanted_by, has=has)


def _passes_of(adapter: ModuleAdapter) -> tuple[Sequence[str], str]:
    """Return the passes of an IR, and a sentence on them if there are few."""
    known = [
        name
        for name, one in registered_passes().items()
        if accepts_passes_of(adapter, one)
    ]
    if len(known) > _MAX_LISTED:
        return known, ""
    of = f"IR '{adapter.ir_name}'" if adapter.ir_name else "this IR"
    return known, (
        f"{of} has {quoted(known) or 'none'}. One of your own is known once the module "
        f"that registers it is imported: {_importing(adapter.ir_name)}by --load"
    )


def _importing(ir_name: str) -> str:
    """Return the beginning of advice on where an installed IR imports its passes."""
    try:
        found = ir_named(ir_name)
    except EntryPointError:  # it has a message of its own
        found = None
    return "" if found is None else f"in '{found.adapter}', which is loaded for it, or "


def _definitions(factory: Callable[..., Any]) -> Iterable[Any]:
    """Return the objects whose `__module__` tells where a factory's passes are from."""
    if isinstance(factory, ConstantFactory):
        return type(factory.made).__mro__
    return factory.__mro__ if isinstance(factory, type) else (factory,)


def _other_ir(
    definitions: Iterable[Any], adapter: ModuleAdapter
) -> tuple[type, type] | None:
    """Return the module types of a pass and of an adapter, if they differ.

    `definitions` are the class of the pass and its bases.
    """
    for one in definitions:
        expected = _module_type_of(getattr(one, "__module__", None) or "")
        if expected is not None:
            break
    else:
        return None
    adapter = unchecked(adapter)
    if _adapters.find(expected) is adapter:
        return None
    given = [kind for kind in _adapters if _adapters.find(kind) is adapter]
    if not given or any(issubclass(kind, expected) for kind in given):
        return None
    return expected, given[0]


@functools.cache
def _module_type_of(module: str) -> type | None:
    """Return the module type that the passes of a Python module apply to, if any."""
    package = module
    while package:
        if package in _module_types:
            return _module_types[package]
        package = package.rpartition(".")[0]
    return None


Unwrap = Callable[[Any], Any]

_lifts: ReplicatedTable[type, Callable[[Any], tuple[Any, Unwrap]]] = ReplicatedTable(
    "wrapping of"
)


def register_wrapping(
    part_type: type, wrap: Callable[[Any], tuple[Any, Unwrap]]
) -> None:
    """Register how to lift values of a type, which are parts of a module, to a module.

    `wrap` returns a module that contains the value, and a function that extracts the
    value from the resulting module.
    """
    _lifts[part_type] = wrap


def lift_to_module(value: Any) -> tuple[Any, Unwrap]:
    """Return a pass's argument as a module, and a function that extracts the result."""
    for kind in type(value).__mro__:
        wrap = _lifts.find(kind)
        if wrap is not None:
            return wrap(value)
    return value, lambda mod: mod


def adapter_of(mod: Any, pass_name: str) -> ModuleAdapter:
    """Return the checked adapter of a module.

    Raises:
        PassInputError: No adapter is registered for its type.
    """
    adapter = find_adapter(mod)
    if adapter is None:
        raise _no_adapter_error(mod, f"pass '{pass_name}'", pass_name)
    return checked(adapter)


def adapter_for(root: Pass, mod: Any) -> ModuleAdapter:
    """Return the adapter, in its checked form, of a module for a pass or pipeline.

    Raises:
        PassInputError: No adapter is registered for its type.
        AdapterError: `is_module` of the adapter is false for it.
    """
    found = find_adapter(mod)
    if found is None:
        raise _no_adapter_error(mod, _describe_pass(root), root.info.name)
    adapter = checked(found)
    if not adapter.is_module(mod):
        expected = f"True for the {type(mod).__name__} that it is registered for"
        raise AdapterError(adapter_name(adapter), "is_module", expected, False)
    return adapter


def _describe_pass(root: Pass) -> str:
    name = root.info.name
    if not (isinstance(root, Sequential) and name == _UNNAMED):
        return f"pass '{name}'"
    named = [one.info.name for one in root.passes if one is not None]
    more = ", ..." if len(named) > _MAX_NAMED else ""
    return f"the pipeline [{', '.join(named[:_MAX_NAMED])}{more}]"


def find_adapter(mod: Any) -> ModuleAdapter | None:
    for kind in type(mod).__mro__:
        adapter = _adapters.find(kind)
        if adapter is not None:
            return adapter
    return None


def _no_adapter_error(mod: Any, caller: str, pass_name: str) -> PassInputError:
    expected = " or ".join(sorted(kind.__name__ for kind in _adapters)) or "a module"
    hint = (
        "; a module of another type needs an adapter: import the module that "
        "registers it (see register_adapter)"
    )
    message = f"{caller} expected {expected}, got {describe_kind(mod)}"
    is_plain = type(mod).__module__ == "builtins"
    return PassInputError(message if is_plain else message + hint, pass_name=pass_name)
