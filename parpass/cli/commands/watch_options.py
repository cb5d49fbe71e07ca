"""The options that watch runs, declared once for all commands that run pipelines.

`cli/operations/watching.py` carries them out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from parpass.cli.commands import completion
from parpass.cli.commands.option_syntax import Option
from parpass.cli.commands.options import ByteSize, showing, writing

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_file = click.Path(dir_okay=False, writable=True)
_FORMATS = click.Choice(["", "text", "json", "csv"])


def watching(command: CommandT) -> CommandT:
    """Declare the options on a command.

    It gets what was given for them as one argument, `watched`: the arguments of
    `WatchOptions`.
    """

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        watched = {name: given.pop(name) for name in names}
        return command(watched=watched, **given)

    before = len(getattr(run, "__click_params__", ()))
    for declare in reversed(_OPTIONS):
        declare(run)
    declared: Sequence[Option] = getattr(run, "__click_params__", ())
    names = [str(option.name) for option in declared[before:]]
    return run  # pyright: ignore[reportReturnType] -- it takes other keywords


def _trace_path(
    _ctx: click.Context, _param: click.Parameter, path: str | None
) -> str | None:
    if path is not None and not path.endswith((".json", ".json.gz")):
        raise click.BadParameter(
            f"expected a name that ends in .json or .json.gz, got '{path}'"
        )
    return path


_OPTIONS: Sequence[Callable[[Any], Any]] = (
    writing(
        "--remarks",
        metavar="FILE",
        type=click.Path(dir_okay=False, writable=True, allow_dash=True),
        help="Write what passes did, what they missed and why, and what they found: as "
        "YAML in LLVM's format if FILE ends in .yaml or .yml, as JSON Lines if it ends "
        "in .jsonl; - shows it on standard error.",
    ),
    writing(
        "--remarks-filter",
        metavar="PATTERN",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Of the remarks, keep those of passes whose names these globs match, "
        "separated by commas, such as 'Fuse*'.",
    ),
    writing(
        "--trace",
        metavar="OUT",
        type=_file,
        callback=_trace_path,
        help="Write what each process did when, for ui.perfetto.dev or "
        "chrome://tracing to show: JSON in the trace event format, compressed if OUT "
        "ends in .json.gz.",
    ),
    writing(
        "--report",
        metavar="OUT",
        type=_file,
        help="Write a page of HTML that shows how the run went: the timeline, what "
        "each pass changed in which function, remarks, where the time went.",
    ),
    writing(
        "--profile",
        metavar="OUT",
        type=_file,
        help="Write the seconds of passes and of functions, and what passes counted, "
        "as JSON that parpass compare reads.",
    ),
    writing(
        "--profile-memory",
        is_flag=True,
        help="Have the profile tell how much memory each pass took on each function, "
        "too; passes take longer then.",
    ),
    writing(
        "--repeat",
        metavar="N",
        type=click.IntRange(min=1),
        help="Run the pipeline N times for --profile, so that the noise is known. "
        "Other options show the first run only, but --trace and --report.",
    ),
    writing(
        "--dump-ir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write what each pass made of each function that it changed to files in "
        "this folder, each with the command that runs the pass again. "
        "--filter-print-funcs and --dump-ir-passes choose.",
    ),
    writing(
        "--dump-ir-passes",
        metavar="PASSES",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Dump what these passes made alone: globs, separated by commas.",
    ),
    writing(
        "--dump-ir-limit",
        metavar="SIZE",
        type=ByteSize(1000),
        help="End the dump before it takes more than this, such as 500M; 1G by "
        "default.",
    ),
    showing(
        "--print-ir-before",
        metavar="[=NAMES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR before these passes, separated by commas; without names, "
        "before each pass.",
    ),
    showing(
        "--print-ir-after",
        metavar="[=NAMES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR after these passes.",
    ),
    showing(
        "--print-ir-before-all",
        is_flag=True,
        help="Print the IR before each pass.",
    ),
    showing(
        "--print-ir-after-all",
        is_flag=True,
        help="Print the IR after each pass.",
    ),
    showing(
        "--print-ir-after-change",
        metavar="[=PASSES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print a diff of each function that a pass changed; of these passes "
        "alone, globs separated by commas, if some are given.",
    ),
    showing(
        "--filter-print-funcs",
        metavar="FUNCTIONS",
        multiple=True,
        help="Show and dump changes of these functions alone: globs, separated by "
        "commas.",
    ),
    showing(
        "--verify-each",
        is_flag=True,
        help="Check that the IR is well formed before and after each pass.",
    ),
    showing(
        "--timing",
        metavar="[=FORMAT]",
        multiple=True,
        type=_FORMATS,
        help="Show how long each pass took, as a table or, with =json and =csv, as "
        "those.",
    ),
    showing(
        "--peak-memory",
        metavar="[=FORMAT]",
        multiple=True,
        type=_FORMATS,
        help="Show how much memory each pass took at most or, with =json and =csv, on "
        "each function too; passes take longer then.",
    ),
    showing(
        "--statistics",
        metavar="[=FORMAT]",
        multiple=True,
        type=_FORMATS,
        help="Show what passes counted or, with =json and =csv, on each function too.",
    ),
    showing(
        "--explain-speed",
        is_flag=True,
        help="Show where the time went, what the workers did, and what would make the "
        "run faster.",
    ),
    showing(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show nothing of what is being done, nor how far it is.",
    ),
)
