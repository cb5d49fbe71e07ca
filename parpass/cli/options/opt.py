"""The options of `parpass opt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from parpass.cli.options import completion, shared
from parpass.cli.options.shared import (
    CacheOptions,
    LimitOptions,
    ModelInputOptions,
    WorkerOptions,
    limit_flags,
)
from parpass.cli.options.structs import (
    group,
    listing,
    option_struct,
    running,
    showing,
    writing,
)
from parpass.cli.options.watching import WatchOptions


@option_struct
class OptOptions:
    inputs: Sequence[Path] = shared.program("INPUT...", nargs=-1)
    passes: str | None = shared.passes(
        more_help=" Without -p, -O runs the IR's default pipeline; without either, "
        "the program is read and written unchanged.",
    )
    level: int = shared.level()
    config: Sequence[str] = shared.config()
    workers: WorkerOptions = group(WorkerOptions)
    dask: str | None = shared.dask()
    isolate: bool = shared.isolate()
    loaded: Sequence[str] = shared.load()
    ir: str | None = shared.ir()
    model: ModelInputOptions = group(ModelInputOptions)
    split_input_file: str | None = running(
        "--split-input-file",
        metavar="[=LINE]",
        help="Continue with the next program when one fails. Programs are separated "
        "by '// -----' lines, also without this option, or by LINE.",
    )
    verify_diagnostics: bool = running(
        "--verify-diagnostics",
        is_flag=True,
        help="Check that the diagnostics are those that comments in the input expect: "
        "// expected-error@+1 {{text}}, and likewise -warning, -note and -help.",
    )
    limits: LimitOptions = limit_flags()
    on_failure: str | None = running(
        "--on-failure",
        type=click.Choice(["fail", "skip", "retry"]),
        help="What to do when a pass fails on a function or exceeds a limit: end the "
        "run, keep the function as it was and warn, or try once more.  [default: fail]",
    )
    results: CacheOptions = group(CacheOptions)
    opt_bisect_limit: int | None = running(
        "--opt-bisect-limit",
        metavar="N",
        type=click.IntRange(min=-1),
        help="Run only the first N pairs of pass and function, in the order of a "
        "serial run; -1 runs all and shows their numbers.",
    )
    opt_bisect: str | None = running(
        "--opt-bisect",
        metavar="RANGES",
        help="Run only the pairs with these numbers, such as 1-9,12,21-.",
    )
    output: str = shared.output(
        "File to write the IR to, as JSON if it ends in .json; - is standard output.",
        may_be_shown=True,
    )
    print_metadata: bool | None = writing(
        "--print-metadata/--no-print-metadata",
        default=None,
        help="Append the values of constants, or leave them out. By default files "
        "have them and standard output does not: the weights of a real network take "
        "hundreds of megabytes as text. Without them the IR shows "
        "meta[relay.Constant][N] instead, and cannot be read back.",
    )
    print_types: bool = writing(
        "--print-types",
        is_flag=True,
        help="Write inferred types as comments, as --dump-ir does. They are inferred "
        "again when the text is read.",
    )
    reproducer: str | None = writing(
        "--reproducer",
        metavar="PATH",
        help="When a pass fails, write a reproducer to this file or folder. See "
        "'parpass replay'.",
    )
    watched: WatchOptions = group(WatchOptions)
    dump_pass_pipeline: bool = showing(
        "--dump-pass-pipeline",
        is_flag=True,
        help="Print the pipeline with all options, as text for -p.",
    )
    check_contract: bool = showing(
        "--check-contract",
        is_flag=True,
        help="Check that function passes change nothing but their result, and do not "
        "depend on hash seed, process or order.",
    )
    check_analyses: bool = showing(
        "--check-analyses",
        is_flag=True,
        help="Check that passes preserve the analyses they claim to, by computing "
        "each before and after the pass.",
    )
    traceback: bool = shared.traceback()
    list_passes: bool = listing(
        "--list-passes", is_flag=True, help="List the passes, or only those of --ir."
    )
    help_pass: str | None = listing(
        "--help-pass",
        metavar="NAME",
        shell_complete=completion.one_pass,
        help="Describe a pass and its options.",
    )
    list_configs: bool = listing(
        "--list-configs", is_flag=True, help="List the --config keys."
    )
    list_operators: bool = listing(
        "--list-operators", is_flag=True, help="List Relay's operators."
    )

    @property
    def listings(self) -> Sequence[str]:
        asked = {
            "passes": self.list_passes,
            "configs": self.list_configs,
            "operators": self.list_operators,
        }
        return [name for name, is_asked in asked.items() if is_asked]
