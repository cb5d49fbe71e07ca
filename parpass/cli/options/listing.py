"""The output of `--list-passes`, `--help-pass` and the like."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Any

import click

from parpass.cli.files.irs import load_installed_irs
from parpass.errors import UnknownPassError
from parpass.ir.dialect import load_dialects
from parpass.ir.op.op_table import Op
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    ModuleAdapter,
    ModulePass,
    list_config_options,
    pass_keys,
    registered_passes,
)
from parpass.transform.adapter_registry import accepts_passes_of
from parpass.transform.config import ConfigOption, field_names
from parpass.transform.pipeline import OptionSpec, options_of, to_text


class PassOrigin(Enum):
    """The compiler that a pass comes from; the values are headings."""

    TVM = "TVM's passes"
    PARPASS = "Other bundled passes"
    OTHER = "Registered by others"


def pass_origin(key: str) -> PassOrigin:
    """Return the compiler that a pass comes from, by its key; see `register_pass`."""
    if key.startswith(("transform.", "relay._transform.", "tir.transform.")):
        return PassOrigin.TVM
    return PassOrigin.PARPASS if key.startswith("parpass.") else PassOrigin.OTHER


def show(
    *, names: Sequence[str], told: str | None, adapter: ModuleAdapter | None
) -> bool:
    """Print the listings of these names, and the description of the pass `told`.

    `adapter` is that of the IR whose passes are listed; None for all.
    """
    listings = {
        "passes": functools.partial(list_passes, adapter),
        "configs": list_configs,
        "operators": list_operators,
    }
    texts = [listings[name]() for name in names]
    texts += [] if told is None else [_told(told)]
    click.echo("\n".join(texts), nl=False)
    return bool(texts)


def _told(name: str) -> str:
    with contextlib.suppress(UnknownPassError):
        return help_pass(name)
    load_installed_irs()
    try:
        return help_pass(name)
    except UnknownPassError as error:
        raise click.BadParameter(str(error), param_hint="'--help-pass'") from None


def list_passes(adapter: ModuleAdapter | None = None) -> str:
    """Return the names of passes by their origin, each with what it does.

    By default all passes; else those that run on modules of an adapter.
    """
    rows, keys = described_passes(adapter), pass_keys()
    formatter = click.HelpFormatter()
    for origin in PassOrigin:
        of_these = [row for row in rows if pass_origin(keys[row[0]]) is origin]
        if of_these:
            with formatter.section(origin.value):
                formatter.write_dl(of_these)
    return formatter.getvalue().removeprefix("\n")


def described_passes(adapter: ModuleAdapter | None = None) -> list[tuple[str, str]]:
    """Return names, sorted, and first lines of docstrings, as for `list_passes`."""
    _load()
    return [
        (name, (inspect.getdoc(factory) or "").partition("\n")[0])
        for name, factory in registered_passes().items()
        if adapter is None or accepts_passes_of(adapter, factory)
    ]


def list_configs() -> str:
    return _table([_described(option) for option in config_options()])


def config_options() -> list[ConfigOption]:
    _load()
    return [option for _key, option in sorted(list_config_options().items())]


def list_operators() -> str:
    _load()
    ops = map(Op.get, Op.list_op_names())
    return _table([(op.name, _shape_of(op)) for op in ops])


def _shape_of(op: Op) -> str:
    arguments = "argument" if op.num_inputs == 1 else "arguments"
    attributes = ", ".join(field_names(op.attrs_type)) if op.attrs_type else ""
    parts = [f"{op.num_inputs} {arguments}", attributes, op.pattern.name.lower()]
    return "; ".join(filter(None, parts))


def pass_options(name: str) -> list[OptionSpec]:
    """Return the options of a pass; none where there is no such pass."""
    _load()
    factory = registered_passes().get(name)
    return [] if factory is None else list(options_of(factory)[0].values())


def help_pass(name: str) -> str:
    """Return the description of a pass: kind, level, needs, purpose and options.

    Raises:
        UnknownPassError: There is no such pass.
    """
    _load()
    known = registered_passes()
    factory = known.get(name) or known.get(name.rpartition(".")[2])
    if factory is None:
        raise UnknownPassError(name, known)
    text = inspect.getdoc(factory) or "No description."
    kind, rows = _facts(factory)
    options = f"\nOptions:\n{_table(rows)}" if rows else ("\nNo options.\n")
    return f"{name}: {kind}\n\n{text}\n{options}"


def pass_facts(name: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the kind, level and needs of a pass, and its options with their types."""
    _load()
    return _facts(registered_passes()[name])


def _facts(factory: Callable[..., Any]) -> tuple[str, list[tuple[str, str]]]:
    specs, takes_any = options_of(factory)
    rows = [(_written(one), _explained(one)) for one in specs.values()]
    if takes_any:
        rows.append(("...", "any other"))
    return _kind(factory), rows


def _kind(factory: Callable[..., Any]) -> str:
    info = getattr(factory, "pass_info", None)
    if not inspect.isclass(factory) or info is None:
        return "a function that makes a pass or pipeline"
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
    load_dialects()  # makes their passes known,
    import_module("parpass.runner.driver.session")  # and that its options
