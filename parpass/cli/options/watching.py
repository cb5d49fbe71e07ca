"""The options that watch runs, of `parpass opt` and `parpass build`.

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


_NO_PROFILE = "for --profile OUT, which is not given"


@option_struct
class WatchOptions:
    """The options that show and write something about runs.

    A repeatable option has a text for each time; an empty text stands for all passes,
    or for the default format.
    """

    remarks: str | None = written(
        "--remarks",
        metavar="FILE",
        may_be_shown=True,
        help="Write remarks: what passes did, what they missed and why, and what they "
        "found. The format is LLVM's YAML for .yaml and .yml, JSON Lines for .jsonl; "
        "- shows them on standard error.",
    )
    remarks_filter: Sequence[str] = writing(
        "--remarks-filter",
        metavar="PATTERN",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Keep only remarks of these passes: comma-separated globs, such as "
        "'Fuse*'.",
    )
    trace: str | None = written(
        "--trace",
        metavar="OUT",
        callback=_trace_path,
        help="Write a trace of all processes for ui.perfetto.dev or chrome://tracing, "
        "as JSON in the trace event format, compressed if OUT ends in .json.gz.",
    )
    report: str | None = written(
        "--report",
        metavar="OUT",
        help="Write an HTML report of the run: its timeline, what each pass changed "
        "in which function, remarks, and where the time went; with --trace, the trace "
        "too.",
    )
    profile: str | None = written(
        "--profile",
        metavar="OUT",
        help="Write the times of passes and functions, and the statistics of passes, "
        "as JSON for 'parpass compare'.",
    )
    profile_memory: bool = writing(
        "--profile-memory",
        is_flag=True,
        help="Add the memory that each pass took on each function to the profile; "
        "this slows passes down.",
    )
    repeat: int | None = writing(
        "--repeat",
        metavar="N",
        type=click.IntRange(min=1),
        help="Run the pipeline N times, so that --profile knows the noise. Other "
        "options show only the first run, except --trace and --report.",
    )
    dump_ir: str | None = writing(
        "--dump-ir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write each changed function after each pass to a file in this folder, "
        "with the command that runs the pass again. Select with --filter-print-funcs "
        "and --dump-ir-passes.",
    )
    dump_ir_passes: Sequence[str] = writing(
        "--dump-ir-passes",
        metavar="PASSES",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Dump only after these passes: comma-separated globs.",
    )
    dump_ir_limit: int | None = writing(
        "--dump-ir-limit",
        metavar="SIZE",
        type=ByteSize(1000),
        help="Stop the dump before it exceeds this size, such as 500M.  [default: 1G]",
    )
    print_ir_before: Sequence[str] = showing(
        "--print-ir-before",
        metavar="[=PASSES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR before these passes: comma-separated globs.  [default: all]",
    )
    print_ir_after: Sequence[str] = showing(
        "--print-ir-after",
        metavar="[=PASSES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print the IR after these passes: comma-separated globs.  [default: all]",
    )
    print_ir_after_change: Sequence[str] = showing(
        "--print-ir-after-change",
        metavar="[=PASSES]",
        multiple=True,
        shell_complete=completion.names_of_passes,
        help="Print a diff of each function that a pass changed. PASSES are "
        "comma-separated globs.  [default: all]",
    )
    filter_print_funcs: Sequence[str] = showing(
        "--filter-print-funcs",
        metavar="FUNCTIONS",
        multiple=True,
        help="Show and dump changes of these functions only: comma-separated globs.",
    )
    verify_each: bool = showing(
        "--verify-each",
        is_flag=True,
        help="Check that the IR is well formed before and after every pass.",
    )
    timing: Sequence[str] = numbers(
        "--timing",
        "Show how long each pass took: a table, or =json or =csv.",
    )
    peak_memory: Sequence[str] = numbers(
        "--peak-memory",
        "Show the peak memory of each pass: a table, or =json or =csv, which add each "
        "function. This slows passes down.",
    )
    statistics: Sequence[str] = numbers(
        "--statistics",
        "Show the statistics of passes: a table, or =json or =csv, which add each "
        "function.",
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
        help="Suppress status and progress.",
    )

    def check(self, others: Mapping[str, str | None]) -> None:
        """Refuse options without an effect, and files that cannot be written.

        `others` are the files of other options of the command.
        """
        profile, dump = self.profile is not None, self.dump_ir is not None
        no_dump = "nothing is dumped without --dump-ir DIR"
        not_selecting = (
            "it selects functions for --print-ir-after-change or --dump-ir DIR"
        )
        no_remarks = (
            "there are no remarks to filter without --remarks FILE; '-' for FILE"
        )
        for option, value, has_effect, why in (
            ("--repeat", self.repeat, profile, f"runs are repeated {_NO_PROFILE}"),
            (
                "--profile-memory",
                self.profile_memory,
                profile,
                f"memory is measured {_NO_PROFILE}",
            ),
            (
                "--compare-serial",
                self.compare_serial,
                self.explain_speed,
                "what it measures is shown by --explain-speed, which is not given",
            ),
            (
                "--filter-print-funcs",
                self.filter_print_funcs,
                self.print_ir_after_change or dump,
                f"{not_selecting}; add one of them",
            ),
            ("--dump-ir-passes", self.dump_ir_passes, dump, no_dump),
            ("--dump-ir-limit", self.dump_ir_limit, dump, no_dump),
            (
                "--remarks-filter",
                self.remarks_filter,
                self.remarks is not None,
                f"{no_remarks} is standard error",
            ),
        ):
            if value and not has_effect:
                raise click.BadParameter(why, param_hint=f"'{option}'")
        own = {
            "--trace": self.trace,
            "--report": self.report,
            "--profile": self.profile,
            "--remarks": self.remarks,
        }
        check_outputs({**others, **own})
