"""The group of subcommands, each imported when it is used.

Shipped subcommands are in a table, so that running one reads no installed
distribution's metadata. Others come by entry points of the group `parpass.commands`:
the name of the entry point is that of the subcommand, and its object a `click.Command`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import traceback
import warnings
from collections.abc import Generator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass import __version__
from parpass.cli.interrupts import INTERRUPTED
from parpass.cli.output.failure import InputError, command_text
from parpass.entry_points import installed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "parpass.commands"

# Subcommands and their short help; `pyproject.toml` declares the same ones.
SHIPPED = {
    "bisect": "Find the pass and function that break a result.",
    "build": "Compile a network to a library, on every core.",
    "cache": "Show the size and place of the cache, verify it, or shrink it.",
    "codemod": "Run CODEMOD on files and rewrite those it changes.",
    "compare": "Compare two profiles: what became slower?",
    "diff": "Compare two programs by their structure.",
    "explain": "Explain a pass, option, error or environment variable.",
    "kernels": "Show which kernels a node became, and where a kernel comes from.",
    "mlir-opt": "Run xdsl-opt on every core.",
    "new": "Create a small working compiler to start from.",
    "opt": "Run PASSES on models and write the resulting module.",
    "reduce": "Shrink the program of a reproducer while it fails in the same way.",
    "replay": "Run a reproducer in this process.",
    "run": "Evaluate a function operator by operator, with numpy.",
}
_WRITERS = ("click", "rich")  # the packages that write to standard streams
_MAX_SHORT_HELP = 100  # characters, of an installed subcommand


@contextlib.contextmanager
def ensure_std_streams() -> Generator[None]:
    """Open missing standard streams while the block runs.

    Free descriptors 0 to 2 are taken: otherwise a file that is opened would get one of
    them, and standard error would be written to it. They are read-only, so writing
    output to them fails. Text for a closed standard error is dropped.
    """
    missing = sys.stderr is None  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
    with contextlib.ExitStack() as stack:
        if missing or sys.stdout is None or sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            taken = _occupy_free_fds()
            stack.callback(lambda: [os.close(number) for number in taken])
        if missing:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        yield


def _occupy_free_fds() -> list[int]:
    taken: list[int] = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= 2:
        taken.append(number)
    os.close(number)
    return taken


class _Group(click.Group):
    """A group that imports only the subcommand that runs or shows its help.

    Ctrl-C ends it silently, with the exit code of shells.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *SHIPPED, *_installed()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in SHIPPED:
            name = cmd_name.replace("-", "_")
            return getattr(import_module(f"parpass.cli.commands.{name}"), name)
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name.startswith("-"):
            return known
        found = _installed().get(cmd_name)
        if found is None:
            return None
        try:
            return _load(found)
        except InputError:
            if ctx.resilient_parsing:  # to offer names to a shell
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            name = error.command_name
            if os.path.isfile(name):
                message = (
                    f"no such command: {name}; to run passes on a program, use "
                    "'parpass opt'"
                )
                raise click.UsageError(message, ctx) from None
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(name, possibilities=names, ctx=ctx) from None

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the subcommands with their short help; load only installed ones."""
        rows = {
            **SHIPPED,
            **{name: _short_help(one) for name, one in _installed().items()},
        }
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command with all standard streams open; report failed writes."""
        with ensure_std_streams():
            try:
                return super().main(*args, **kwargs)
            except OSError as error:
                if not (kwargs.get("standalone_mode", True) and _is_of_output(error)):
                    raise
                failure = InputError(f"cannot write: {error.strerror}")
                with contextlib.suppress(OSError):  # of standard error, too
                    failure.show()
                sys.exit(failure.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        if sys.__stderr__ is not None and not faulthandler.is_enabled():
            faulthandler.enable(sys.__stderr__)  # a pass may crash this process
        with _plain_warnings():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                ctx.exit(INTERRUPTED)


def _is_of_output(error: OSError) -> bool:
    """Return whether an error was raised by writing to a standard stream."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).parent.name in _WRITERS


def _installed() -> Mapping[str, EntryPoint]:
    found = installed(ENTRY_POINTS)
    return {name: one for name, one in found.items() if name not in SHIPPED}


def _load(entry_point: EntryPoint) -> click.Command:
    owner = "" if entry_point.dist is None else f" of '{entry_point.dist.name}'"
    what = f"command '{entry_point.name}'{owner} cannot be loaded"
    try:
        command = entry_point.load()
    except (Exception, SystemExit) as error:  # a distribution may raise anything
        raise InputError(f"{what}: {type(error).__name__}: {error}") from error
    if not isinstance(command, click.Command):
        kind = type(command).__name__
        raise InputError(
            f"{what}: expected a click.Command at '{entry_point.value}', got a {kind}"
        )
    return command


def _short_help(entry_point: EntryPoint) -> str:
    try:
        return _load(entry_point).get_short_help_str(_MAX_SHORT_HELP)
    except InputError as error:  # the others are still shown
        return f"({error.message})"


@contextlib.contextmanager
def _plain_warnings() -> Generator[None]:
    """Show warnings of parpass itself without the line of code."""
    usual = warnings.formatwarning

    def format_plainly(message: Any, category: Any, *args: Any, **kwargs: Any) -> str:
        if category.__module__.startswith("parpass.errors"):
            return f"Warning: {command_text(message)}\n"
        return usual(message, category, *args, **kwargs)

    warnings.formatwarning = format_plainly
    try:
        yield
    finally:
        warnings.formatwarning = usual


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parpass")
def main() -> None:
    """Run pipelines of compiler passes on models, on every core.

    \b
    Example:
      parpass opt model.onnx -p InferType,FoldConstant,DeadCodeElimination

    See 'parpass opt --help' for more.
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
