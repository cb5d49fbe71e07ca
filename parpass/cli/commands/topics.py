"""The topics of `parpass explain`: passes, options, errors, environment variables."""

from __future__ import annotations

import enum
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, cast

import click

from parpass import errors
from parpass.cli.files.irs import load_installed_irs
from parpass.cli.group import SHIPPED, main
from parpass.cli.operations.error_advice import ADVICE
from parpass.cli.options.listing import config_options, described_passes, help_pass
from parpass.cli.options.written import ALIASES
from parpass.errors.core import did_you_mean
from parpass.transform.config import ConfigOption, field_names

# Variables of the environment, and what each is for.
ENVIRONMENT = {
    "PARPASS_CACHE_DIR": "The folder that caches kernels and results of passes "
    "between processes; default: `~/.cache/parpass`.",
    "PARPASS_FULL_TRACEBACKS": "Set to `1` to show the frames of parpass in "
    "tracebacks of errors that passes raise.",
}


class UnknownTopicError(LookupError):
    """There is no topic of that name; the message has the nearest ones."""


def error_classes() -> Mapping[str, type[BaseException]]:
    """Return the public errors and warnings by name, sorted."""
    found: dict[str, type[BaseException]] = {}
    for name in sorted(cast("list[str]", vars(errors)["__all__"])):
        value = getattr(errors, name)
        if isinstance(value, type) and issubclass(value, BaseException):
            found[name] = value
    return found


def command_options() -> Mapping[str, Mapping[str, click.Option]]:
    """Return the options of the shipped subcommands by flag, then by subcommand."""
    found: dict[str, dict[str, click.Option]] = {}
    context = click.Context(main)
    for name in SHIPPED:
        command = main.get_command(context, name)
        assert command is not None
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                for flag in (*param.opts, *param.secondary_opts):
                    found.setdefault(flag, {})[name] = param
    return found


def topics() -> Mapping[str, Callable[[], str]]:
    found: dict[str, Callable[[], str]] = {}
    for name, _ in described_passes():
        found[name] = lambda name=name: help_pass(name)
    for flag, uses in command_options().items():
        found[flag] = lambda flag=flag, uses=uses: _flag_text(flag, uses)
    for alias, spelled in ALIASES.items():
        found[alias] = found[spelled.partition("=")[0]]
    for option in config_options():
        found[option.key] = lambda option=option: _option_text(option)
    for name, kind in error_classes().items():
        found[name] = lambda kind=kind: _error_text(kind)
    for name, meaning in ENVIRONMENT.items():
        found[name] = lambda name=name, meaning=meaning: (
            f"{name}: an environment variable\n\n{_filled(meaning)}\n"
        )
    return found


def explain(name: str) -> str:
    """Return the text of a topic; case does not matter.

    The dashes of an option may be left out, and `parpass.` of one of the context.

    IRs that other distributions declare are loaded for a name that is not known.

    Raises:
        UnknownTopicError: There is none of that name.
    """
    found = _find(name)
    if found is None:
        load_installed_irs()
        found = _find(name)
    if found is None:
        near = did_you_mean(name, topics()) or "."
        raise UnknownTopicError(
            "expected the name of a pass, an option, an error or an environment "
            f"variable, got '{name}'{near} A pass is known once its module is "
            "imported: use --ir or --load, or let an installed IR's entry point name "
            "the module"
        )
    return found()


def _find(name: str) -> Callable[[], str] | None:
    known = {one.lower(): text for one, text in topics().items()}
    spelled = (f"{begin}{name.lower()}" for begin in ("", "--", "parpass."))
    return next((known[one] for one in spelled if one in known), None)


def option_kind(option: ConfigOption) -> str:
    """Return the type of an option's values as text."""
    kind: Any = option.kind
    if issubclass(kind, enum.Enum):
        return f"one of {', '.join(one.value for one in kind)}"
    fields = field_names(kind)
    return f"object with {', '.join(fields)}" if fields else kind.__name__


def option_meaning(option: ConfigOption) -> str:
    return f"{option.doc[:1].upper()}{option.doc[1:]}."


def _option_text(option: ConfigOption) -> str:
    return (
        f"{option.key}: an option of the context, {option_kind(option)}\n\n"
        f"{_filled(option_meaning(option))}\n\n"
        f"In Python: PassContext(config={{{option.key!r}: ...}})\n"
        f"On the command line: --config {option.key}=...\n"
    )


def _flag_text(flag: str, uses: Mapping[str, click.Option]) -> str:
    commands: dict[str, list[str]] = {}  # by what the option does there
    for name, option in uses.items():
        commands.setdefault(option.help or "", []).append(f"parpass {name}")
    return "\n".join(
        f"{flag}: an option of {', '.join(names)}\n\n{_filled(meaning)}\n"
        for meaning, names in commands.items()
    )


def _error_text(kind: type[BaseException]) -> str:
    is_warning = issubclass(kind, Warning)
    bases = ", ".join(base.__name__ for base in kind.__bases__)
    return (
        f"{kind.__name__}: {'a warning' if is_warning else 'an error'} ({bases})\n\n"
        f"{inspect.getdoc(kind)}\n\n"
        f"What to do: {_filled(ADVICE[kind.__name__])}\n"
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, 80, break_on_hyphens=False)
