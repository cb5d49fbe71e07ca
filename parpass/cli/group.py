"""The group of commands."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import warnings
from collections.abc import Generator
from typing import Any

import click

from parpass import __version__
from parpass.cli.commands.bisect import bisect
from parpass.cli.commands.build import build
from parpass.cli.commands.cache import cache
from parpass.cli.commands.diff import diff
from parpass.cli.commands.opt import opt
from parpass.cli.commands.reduce import reduce
from parpass.cli.commands.replay import replay
from parpass.cli.commands.run import run
from parpass.cli.files.streams import whole_streams
from parpass.cli.showing.wording import spoken


class _Interruptible(click.Group):
    """Ends with the shells' exit code for Ctrl-C, and without a word."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command, with standard streams that are there."""
        with whole_streams():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        if sys.__stderr__ is not None and not faulthandler.is_enabled():
            faulthandler.enable(sys.__stderr__)  # a pass may crash this process
        with _plain_warnings():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                ctx.exit(130)


@contextlib.contextmanager
def _plain_warnings() -> Generator[None]:
    """Have warnings of parpass itself shown without a line of its code."""
    usual = warnings.formatwarning

    def format_plainly(message: Any, category: Any, *args: Any, **kwargs: Any) -> str:
        if category.__module__.startswith("parpass.errors"):
            return f"Warning: {spoken(str(message))}\n"
        return usual(message, category, *args, **kwargs)

    warnings.formatwarning = format_plainly
    try:
        yield
    finally:
        warnings.formatwarning = usual


@click.group(
    cls=_Interruptible, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="parpass")
def main() -> None:
    """Run pipelines of compiler passes on models, on every core.

    \b
    Example:
      parpass opt model.onnx -p InferType,FoldConstant,DeadCodeElimination

    See 'parpass opt --help' for more.
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph


for command in (bisect, build, cache, diff, opt, reduce, replay, run):
    main.add_command(command)
