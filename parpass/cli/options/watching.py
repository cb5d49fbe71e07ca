"""The options that watch runs, of all subcommands that run pipelines.

`cli/operations/watching.py` carries them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from parpass.cli.files.writing import check_outputs
from parpass.cli.options import completion
from parpass.cli.options.kinds import ByteSize
from parpass.cli.options.shared import explain_speed, numbers, written
from parpass.cli.options.structs import option_struct, showing, writing


def _trace_path(
    _ctx: click.Context, _param: click.Parameter, path: str | None
) -> str | None:
    if path is not None and not path.endswith((".json", ".json.gz")):
        raise click.BadParameter(
            f"expected a name that ends in .json or .json.gz, got '{path}'"
        )
    return path


@option_struct
class WatchOptions:
    """The options for what is shown and written of runs.

    An option that may be given again has a text for each time; an empty one stands for
    all passes, or for the usual format.
    """

    remarks: str | None = written(
        "--remarks",
        metavar="FILE",
        may_be_shown=True,
        help="Write what passes did, what they missed and why, and what they found: as "
        "YAML in LLVM's format if FILE ends in .yaml or .yml, as JSON Lines if it ends "
        "in .jsonl; - shows it on standard error.",
    )
    remarks_filter: Sequence[str] = writing(
        "--remarks-filter",
        metavar="PATTERN",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Of the remarks, keep those of passes whose names these globs match, "
        "separated by commas, such as 'Fuse*'.",
    )
    trace: str | None = written(
        "--trace",
        metavar="OUT",
        callback=_trace_path,
        help="Write what each process did when, for ui.perfetto.dev or "
        "chrome://tracing to show: JSON in the trace event format, compressed if OUT "
        "ends in .json.gz.",
    )
    report: str | None = written(
        "--report",
        metavar="OUT",
        help="Write a page of HTML that shows how the run went: the timeline, what "
        "each pass changed in which function, remarks, where the time went; and the "
        "trace, with --trace.",
    )
    profile: str | None = written(
        "--profile",
        metavar="OUT",
        help="Write the seconds of passes and of functions, and what passes counted, "
        "as JSON that parpass compare reads.",
    )
    profile_memory: bool = writing(
        "--profile-memory",
        is_flag=True,
        help="Have the profile tell how much memory each pass took on each function, "
        "too; passes take longer then.",
    )
    repeat: int | None = writing(
        "--repeat",
        metavar="N",
        type=click.IntRange(min=1),
        help="Run the pipeline N times for --profile, so that the noise is known. "
        "Other options show the first run only, but --trace and --report.",
    )
    dump_ir: str | None = writing(
        "--dump-ir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write what each pass made of each function that it changed to files in "
        "this folder, each with the command that runs the pass again. "
        "--filter-print-funcs and --dump-ir-passes choose.",
    )
    dump_ir_passes: Sequence[str] = writing(
        "--dump-ir-passes",
        metavar="PASSES",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Dump what these passes made alone: globs, separated by commas.",
    )
    dump_ir_limit: int | None = writing(
        "--dump-ir-limit",
        metavar="SIZE",
        type=ByteSize(1000),
        help="End the dump before it takes more than this, such as 500M; 1G by "
        "default.",
    )
    print_ir_before: Sequence[str] = showing(
        "--print-ir-before",
        metavar="[=NAMES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR before these passes, separated by commas; without names, "
        "before each pass.",
    )
    print_ir_after: Sequence[str] = showing(
        "--print-ir-after",
        metavar="[=NAMES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR after these passes.",
    )
    print_ir_before_all: bool = showing(
        "--print-ir-before-all",
        is_flag=True,
        help="Print the IR before each pass.",
    )
    print_ir_after_all: bool = showing(
        "--print-ir-after-all",
        is_flag=True,
        help="Print the IR after each pass.",
    )
    print_ir_after_change: Sequence[str] = showing(
        "--print-ir-after-change",
        metavar="[=PASSES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print a diff of each function that a pass changed; of these passes "
        "alone, globs separated by commas, if some are given.",
    )
    filter_print_funcs: Sequence[str] = showing(
        "--filter-print-funcs",
        metavar="FUNCTIONS",
        multiple=True,
        help="Show and dump changes of these functions alone: globs, separated by "
        "commas.",
    )
    verify_each: bool = showing(
        "--verify-each",
        is_flag=True,
        help="Check that the IR is well formed before and after each pass.",
    )
    timing: Sequence[str] = numbers(
        "--timing",
        "Show how long each pass took, as a table or, with =json and =csv, as those.",
    )
    peak_memory: Sequence[str] = numbers(
        "--peak-memory",
        "Show how much memory each pass took at most or, with =json and =csv, on "
        "each function too; passes take longer then.",
    )
    statistics: Sequence[str] = numbers(
        "--statistics",
        "Show what passes counted or, with =json and =csv, on each function too.",
    )
    explain_speed: bool = explain_speed()
    compare_serial: bool = showing(
        "--compare-serial",
        is_flag=True,
        help="For --explain-speed run the passes once more without workers, and show "
        "how much faster the run was than that.",
    )
    quiet: bool = showing(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show nothing of what is being done, nor how far it is.",
    )

    def check(self, others: Mapping[str, str | None]) -> None:
        """Refuse, before anything is run, files that could not be written.

        `others` are those of other options of the command. An option that says how to
        make what is not asked for is refused, too.
        """
        for option, is_given, why in (
            ("--repeat", self.repeat is not None, "runs are repeated"),
            ("--profile-memory", self.profile_memory, "memory is measured"),
        ):
            if is_given and self.profile is None:
                raise click.BadParameter(
                    f"{why} for --profile OUT, which is not given",
                    param_hint=f"'{option}'",
                )
        if self.compare_serial and not self.explain_speed:
            raise click.BadParameter(
                "what it measures is shown by --explain-speed, which is not given",
                param_hint="'--compare-serial'",
            )
        if self.filter_print_funcs and not (self.print_ir_after_change or self.dump_ir):
            raise click.BadParameter(
                "functions are chosen for --print-ir-after-change or --dump-ir DIR, of "
                "which none is given",
                param_hint="'--filter-print-funcs'",
            )
        own = {
            "--trace": self.trace,
            "--report": self.report,
            "--profile": self.profile,
            "--remarks": self.remarks,
        }
        check_outputs({**others, **own})
