"""`parpass codemod`: run a codemod on Python files, on every core."""

from __future__ import annotations

import click

from parpass.cli.options.codemod import CodemodOptions
from parpass.cli.options.structs import command
from parpass.cli.options.syntax import Command

_ARGUMENTS = "parpass.cli.codemod_arguments"  # the key of the arguments after --


class _CodemodCommand(Command):
    """A command that leaves the arguments after `--` to the codemod."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@command(
    CodemodOptions,
    cls=_CodemodCommand,
    epilog="Exit codes: 0 ok, 1 a file failed, or with --check would change, 2 the "
    "command or the codemod is wrong, 130 interrupted.",
)
def codemod(given: CodemodOptions) -> None:
    """Run CODEMOD on files and rewrite those it changes.

    CODEMOD is PACKAGE.MODULE.NAME or FILE.py:NAME. It names a subclass of LibCST's
    Codemod, such as a VisitorBasedCodemodCommand, or of CSTTransformer, or a function
    that takes a file's text and returns the new one. Leave out the package for codemods
    that ship with LibCST. Arguments after -- go to the codemod; '-- --help' lists them.

    Each PATH is a file or a folder. If the codemod fails on a file, that file stays as
    it is and the others go on. Nothing is written until the codemod has finished all
    files; each is then replaced atomically.

    \b
    Example:
      parpass codemod convert_format_to_fstring.ConvertFormatStringCommand src --diff -n
      parpass codemod rename.RenameCommand src -- --old_name a.b --new_name a.c
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.operations import codemods

    ctx = click.get_current_context()
    if given.lists:
        codemods.show_shipped()
        return
    if given.codemod is None:
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    given.workers.check(isolate=given.isolate)
    given.results.check()
    behind: list[str] = ctx.meta[_ARGUMENTS]
    if not given.paths and not {"-h", "--help"}.intersection(behind):
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[1])
    ctx.exit(codemods.run(given.codemod, given, behind))
