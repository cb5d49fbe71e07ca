"""`parpass mlir-opt`: what `xdsl-opt` does, on every core."""

from __future__ import annotations

import click


class _AsGiven(click.Command):
    """A command whose arguments another parser reads."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = [*args]
        return []


@click.command("mlir-opt", cls=_AsGiven, add_help_option=False)
@click.pass_context
def mlir_opt(ctx: click.Context) -> None:
    """Run xdsl-opt on every core: its options, plus -j and --threshold.

    \b
    Example:
      parpass mlir-opt program.mlir -p canonicalize,cse -j 4
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.mlir_opt import run_mlir_opt

    try:
        run_mlir_opt(ctx.args)
    except SystemExit as end:  # of argparse, which has told why
        ctx.exit(end.code if isinstance(end.code, int) else int(end.code is not None))
