"""`parpass codemod`: run a codemod on Python files, on every core."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.option_syntax import Command, Option

_ARGUMENTS = "parpass.cli.codemod_arguments"  # where what is behind -- is found


class _CodemodCommand(Command):
    """A command that leaves what is behind `--` to the codemod."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what is before it."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@click.command(
    cls=_CodemodCommand,
    epilog="Exit codes: 0 ok, 1 a file failed, or with --check would change, 2 the "
    "command or the codemod is wrong, 130 interrupted.",
)
@click.argument("codemod", metavar="CODEMOD", required=False)
@click.argument("paths", metavar="PATH...", nargs=-1)
@options.running(
    "--include",
    metavar="GLOB",
    multiple=True,
    default=("*.py",),
    show_default=True,
    help="The files to take from folders, by name or by path; may be given again.",
)
@options.running(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Files and folders to leave out, likewise. Hidden folders and virtual "
    "environments always are.",
)
@options.running(
    "--include-generated",
    is_flag=True,
    help="Take files, too, that say that they are generated.",
)
@options.running(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="The folder that modules are imported from, by which a codemod learns the "
    "name of the module that a file is.  [default: the current one]",
)
@options.running(
    "--python-version",
    metavar="VERSION",
    help="Parse files as this version of Python, such as 3.9.",
)
@options.running(
    "--formatter",
    metavar="COMMAND",
    help="Have a command format each file that changed: it reads one from standard "
    "input and writes one to standard output, as 'ruff format -' does.",
)
@options.jobs
@options.executor
@options.isolate
@options.function_timeout
@options.memory_limit
@options.function_cache
@options.lower_caches
@options.writable_caches
@options.verify_cache
@options.writing("-n", "--dry-run", is_flag=True, help="Change no file.")
@options.writing(
    "--check",
    is_flag=True,
    help="Change no file, and exit with 1 if one would change.",
)
@options.writing(
    "--diff",
    "--print-ir-after-change",
    "diff",
    is_flag=True,
    help="Write what changed to standard output, as a patch.",
)
@options.showing(
    "--explain-speed",
    is_flag=True,
    help="Show where the time went, what the workers did, and what would make the "
    "run faster.",
)
@options.showing(
    "-q",
    "--quiet",
    is_flag=True,
    help="Show nothing but failures, nor how far the run is.",
)
@options.traceback
@functools.partial(
    click.option,
    cls=Option,
    section="What there is",
)("--list", "lists", is_flag=True, help="List LibCST's own codemods.")
def codemod(
    *,
    codemod: str | None,
    paths: Sequence[str],
    lists: bool,
    jobs: int | None,
    executor: str | None,
    isolate: bool,
    **given: Any,
) -> None:
    """Run CODEMOD on files, and write those that it changes.

    CODEMOD is PACKAGE.MODULE.NAME or FILE.py:NAME: a subclass of LibCST's Codemod, such
    as a VisitorBasedCodemodCommand, or of CSTTransformer, or a function that takes a
    file's text and returns the new one. LibCST's own are named without their package.
    What is behind -- are arguments of the codemod; '-- --help' tells of them.

    Each PATH is a file or a folder. A file on which something fails stays as it is, and
    the others go on. Nothing is written before the codemod is through with all files,
    and each is replaced in one step.

    \b
    Example:
      parpass codemod convert_format_to_fstring.ConvertFormatStringCommand src --diff -n
      parpass codemod rename.RenameCommand src -- --old_name a.b --new_name a.c
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.operations import codemods

    ctx = click.get_current_context()
    if lists:
        codemods.show_shipped()
        return
    if codemod is None:
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    options.check_executor(jobs, executor)
    named = given["cache"], given["cache_from"], given["cache_to"]
    options.check_cache(given["verify_cache"], is_cached=options.is_cached(*named))
    options.check_isolated(jobs, isolate=isolate)
    behind: list[str] = ctx.meta[_ARGUMENTS]
    if not paths and not {"-h", "--help"}.intersection(behind):
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[1])
    code = codemods.run(
        codemod,
        paths,
        behind,
        jobs=jobs,
        executor=executor,
        isolate=isolate,
        **given,
    )
    ctx.exit(code)
