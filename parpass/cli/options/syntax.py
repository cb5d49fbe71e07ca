"""The syntax of options: sections of help, aliases, optional values as `[=NAMES]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from parpass.cli.options.written import without_alias
from parpass.cli.output.failure import ARGUMENTS
from parpass.errors import UnreadFunctionError

_SPELLED_OUT = "parpass.spelled_out"  # the key of the arguments without aliases


def _pass_for_option(option: str) -> str | None:
    """Return the pass for an option that mlir-opt would take as a pass."""
    from parpass.cli.options.listing import described_passes  # which loads all passes

    plain = option.replace("-", "").lower()
    names = (name for name, _ in described_passes())
    return next((name for name in names if name.lower() == plain), None)


def as_written(*names: str) -> list[str]:
    """Return options of the running command by name, as words of another command."""
    ctx = click.get_current_context()
    parser = ctx.command.make_parser(ctx)
    given, _, _ = parser.parse_args([*ctx.meta[_SPELLED_OUT]])
    words: list[str] = []
    for param in ctx.command.params:
        if isinstance(param, Option) and param.name in names and param.name in given:
            value = given[param.name]
            for one in value if param.multiple else [value]:
                words += [param.opts[0], one]
    return words


class Option(click.Option):
    """An option in a section of the help text.

    A metavar such as `[=NAMES]` makes its value optional: without `=` it is the empty
    string, and the next argument is not taken for it, unless `takes_next` returns that
    it is the value.
    """

    def __init__(
        self,
        *args: Any,
        section: str,
        takes_next: Callable[[str], bool] | None = None,
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        self.section = section
        self.takes_next = takes_next

    @property
    def value_is_optional(self) -> bool:
        return (self.metavar or "").startswith("[=")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help text, with `--name[=VALUE]` in one piece."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(" [=", "[="), record[1])

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the text in brackets, without ranges: help texts mention these."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Command(click.Command):
    """A command whose help lists options by section, those of click last."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; input that cannot be read is reported uniformly."""
        try:
            return super().invoke(ctx)
        except UnreadFunctionError as error:
            from parpass.cli.files.reading import parse_failure  # for this alone

            raise parse_failure(str(error)) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with aliases and options without a value spelled out."""
        ctx.meta[ARGUMENTS] = (str(ctx.info_name), *args)
        end = args.index("--") if "--" in args else len(args)
        spelled = [*self._spelled_out(args[:end]), *args[end:]]
        ctx.meta[_SPELLED_OUT] = tuple(spelled)
        try:
            return super().parse_args(ctx, spelled)
        except click.NoSuchOption as error:
            name = _pass_for_option(error.option_name)
            if name is None or "passes" not in {one.name for one in self.params}:
                raise
            message = f"no such option: {error.option_name}; passes go to -p {name}"
            raise click.UsageError(message, ctx) from None

    def _spelled_out(self, arguments: Sequence[str]) -> list[str]:
        optional = {
            spelling: param
            for param in self.params
            if isinstance(param, Option) and param.value_is_optional
            for spelling in param.opts
        }
        names = {name for param in self.params for name in param.opts}
        found: list[str] = []
        waiting = list(arguments[::-1])
        while waiting:
            argument = without_alias(waiting.pop(), names)
            if argument in optional:
                takes = optional[argument].takes_next
                is_next = waiting and not waiting[-1].startswith("-")
                value = ""
                if is_next and takes is not None and takes(waiting[-1]):
                    value = waiting.pop()
                argument = f"{argument}={value}"
            found.append(argument)
        return found

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        others: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue  # arguments are in the text above
            if isinstance(param, Option):
                sections.setdefault(param.section, []).append(record)
            else:
                others.append(record)
        for heading, records in [*sections.items(), ("Other", others)]:
            with formatter.section(heading):
                formatter.write_dl(records)
