"""What `--list-passes`, `--help-pass` and `--list-configs` print."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from parpass.errors import UnknownPassError
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    list_config_options,
    registered_passes,
)
from parpass.transform.config import ConfigOption, field_names
from parpass.transform.pipeline import OptionSpec, options_of, to_text


def list_passes() -> str:
    """Return the names of all passes, each with the first line of its docstring."""
    _load()
    return _table(
        [
            (name, (inspect.getdoc(factory) or "").partition("\n")[0])
            for name, factory in registered_passes().items()
        ]
    )


def list_configs() -> str:
    """Return the keys for `--config`, each with its type and what it is for."""
    _load()
    options = sorted(list_config_options().items())
    return _table([_described(option) for _key, option in options])


def help_pass(name: str) -> str:
    """Return what is known of a pass: its kind, level, needs, purpose and options.

    Raises:
        UnknownPassError: There is no such pass.
    """
    _load()
    known = registered_passes()
    factory = known.get(name) or known.get(name.rpartition(".")[2])
    if factory is None:
        raise UnknownPassError(name, known)
    text = inspect.getdoc(factory) or "It has no description."
    specs, takes_any = options_of(factory)
    rows = [(_written(one), _explained(one)) for one in specs.values()]
    if takes_any:
        rows.append(("...", "any other"))
    options = f"\nOptions:\n{_table(rows)}" if rows else "\nIt has no options.\n"
    return f"{name}: {_kind(factory)}\n\n{text}\n{options}"


def _kind(factory: Callable[..., Any]) -> str:
    info = getattr(factory, "pass_info", None)
    if not inspect.isclass(factory) or info is None:
        return "a pass or pipeline made by a function"
    if issubclass(factory, FunctionwisePass):
        kind = "a module pass that works function by function"
    elif issubclass(factory, FunctionPass):
        kind = "a function pass"
    else:
        kind = "a module pass" if issubclass(factory, ModulePass) else "a pass"
    needs = f", requires {', '.join(info.required)}" if info.required else ""
    return f"{kind}, runs from -O{info.opt_level}{needs}"


def _written(option: OptionSpec) -> str:
    if option.is_needed:
        return f"{option.name}=..."
    try:
        return f"{option.name}={to_text(option.default)}"
    except ValueError:
        return option.name


def _explained(option: OptionSpec) -> str:
    needed = "must be given" if option.is_needed else ""
    return "; ".join(filter(None, [option.kind_text, needed]))


def _table(rows: Sequence[tuple[str, str]]) -> str:
    formatter = click.HelpFormatter()
    formatter.write_dl(rows)
    return formatter.getvalue()


def _described(option: ConfigOption) -> tuple[str, str]:
    fields = field_names(option.kind)
    if fields:
        return f"{option.key}=OBJECT", f"{option.doc}; fields: {', '.join(fields)}"
    return f"{option.key}={option.kind.__name__.upper()}", option.doc


def _load() -> None:
    import_module("parpass.relay")  # makes its passes known,
    import_module("parpass.runner.driving.runs")  # and that its options
