"""The options of a subcommand as a struct, whose fields declare them.

A field is declared by `running`, `writing` or `showing`, which name the section of the
help text that the option is in, by `argument`, or by `group` for options that several
subcommands share. Its name is that of the parameter, so each option is named once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, dataclass_transform

import click

from parpass.cli.options.syntax import Command, Option

_PARAMETER = "parpass.cli.parameter"  # what makes the parameter of a field
_GROUP = "parpass.cli.group"  # the struct of a field

StructT = TypeVar("StructT")


def option(*flags: str, **attrs: Any) -> Any:
    """Declare a field as an option, by its flags and the arguments of `Option`."""

    def made(name: str) -> click.Parameter:
        return Option((*flags, name), **attrs)

    return dataclasses.field(metadata={_PARAMETER: made})


running = functools.partial(option, section="Input and execution")
writing = functools.partial(option, section="Output")
showing = functools.partial(option, section="Shown on standard error")
listing = functools.partial(option, section="Listings")


def argument(**attrs: Any) -> Any:
    """Declare a field as an argument, by the arguments of `click.Argument`."""

    def made(name: str) -> click.Parameter:
        return click.Argument((name,), **attrs)

    return dataclasses.field(metadata={_PARAMETER: made})


def group(struct: type) -> Any:
    """Declare a field as a struct of further options."""
    return dataclasses.field(metadata={_GROUP: struct})


@dataclass_transform(kw_only_default=True, frozen_default=True)
def option_struct(cls: type[StructT]) -> type[StructT]:
    """Make a frozen struct of a class whose fields declare options."""
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def command(
    struct: type[StructT], *, cls: type[Command] = Command, **attrs: Any
) -> Callable[[Callable[[StructT], None]], click.Command]:
    """Make a subcommand from a function of one struct of options."""

    def made(run: Callable[[StructT], None]) -> click.Command:
        @functools.wraps(run)
        def run_with(**values: Any) -> None:
            run(_filled(struct, values))

        params = list(_parameters(struct))
        return click.command(cls=cls, params=params, **attrs)(run_with)

    return made


def _parameters(struct: type) -> Iterator[click.Parameter]:
    for field in dataclasses.fields(struct):
        if _GROUP in field.metadata:
            yield from _parameters(field.metadata[_GROUP])
        else:
            yield field.metadata[_PARAMETER](field.name)


def _filled(struct: type[StructT], values: Mapping[str, Any]) -> StructT:
    fields = dataclasses.fields(struct)  # pyright: ignore[reportArgumentType] -- it is a dataclass
    return struct(
        **{
            one.name: _filled(one.metadata[_GROUP], values)
            if _GROUP in one.metadata
            else values[one.name]
            for one in fields
        }
    )
