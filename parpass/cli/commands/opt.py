"""`parpass opt`: read models, run a pipeline on them, write the result."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from parpass.cli.commands import completion, options, watch_options
from parpass.cli.commands.option_syntax import Command, Option

_listing = functools.partial(click.option, cls=Option, section="What there is")


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 1 a pass failed, 2 the command, a pipeline or an input "
    "is wrong, 130 interrupted.",
)
@click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@options.running(
    "-p",
    "--passes",
    "--pass-pipeline",
    "passes",
    metavar="PASSES",
    shell_complete=completion.pipelines,
    help=f"{options.PASSES_HELP} Without it, -O runs the pipeline of the IR; without "
    "either, the program is only read and written.",
)
@options.level
@options.config
@options.jobs
@options.executor
@options.dask
@options.isolate
@options.load_plugin
@options.ir
@options.shape
@options.running(
    "--split-input-file",
    metavar="[=LINE]",
    help="Go on with the other programs of the input when one fails. They are parted "
    "by lines '// -----', with or without this, or by LINE.",
)
@options.running(
    "--verify-diagnostics",
    is_flag=True,
    help="Check that what is reported is what comments in the input expect: "
    "// expected-error@+1 {{text}}, and likewise -warning, -note and -help.",
)
@options.function_timeout
@options.memory_limit
@options.on_failure
@options.function_cache
@options.lower_caches
@options.writable_caches
@options.verify_cache
@options.running(
    "--opt-bisect-limit",
    metavar="N",
    type=click.IntRange(min=-1),
    help="Run only the first N pairs of pass and function, numbered in the order of a "
    "serial run; -1 runs all and shows their numbers.",
)
@options.running(
    "--opt-bisect",
    metavar="RANGES",
    help="Run only the pairs with these numbers, such as 1-9,12,21-.",
)
@options.writing(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    default="-",
    show_default=True,
    help="Where to write the IR, as JSON if it ends in .json; - is standard output.",
)
@options.writing(
    "--print-metadata/--no-print-metadata",
    default=None,
    help="Write the values of constants too, at the end, as is done in files and not "
    "on standard output. Weights of real networks take hundreds of megabytes as text; "
    "without them the IR shows meta[relay.Constant][N] in their places, and cannot be "
    "read again.",
)
@options.writing(
    "--print-types",
    is_flag=True,
    help="Write the types that passes inferred, as comments, as --dump-ir does. They "
    "are inferred again when the text is read.",
)
@options.writing(
    "--reproducer",
    metavar="PATH",
    help="When a pass fails, write what is needed to run it again to this file, or in "
    "this folder. See parpass replay.",
)
@watch_options.watching
@options.showing(
    "--dump-pass-pipeline",
    is_flag=True,
    help="Print the passes and their options, as text for -p.",
)
@options.showing(
    "--check-contract",
    is_flag=True,
    help="Check that function passes change nothing but what they return, and depend "
    "on neither hash seed nor process nor order.",
)
@options.showing(
    "--check-analyses",
    is_flag=True,
    help="Check that passes preserve the analyses that they say they do: each is "
    "computed before and after the pass.",
)
@options.traceback
@_listing(
    "--list-passes",
    "lists",
    flag_value="passes",
    help="List the passes, of --ir if given.",
)
@_listing(
    "--help-pass",
    metavar="NAME",
    shell_complete=completion.one_pass,
    help="Tell about a pass and its options.",
)
@_listing(
    "--list-configs", "lists", flag_value="configs", help="List the --config keys."
)
@_listing(
    "--list-operators", "lists", flag_value="operators", help="List Relay's operators."
)
def opt(
    *,
    inputs: Sequence[Path],
    level: int,
    config: Sequence[str],
    lists: str | None,
    help_pass: str | None,
    output: str,
    executor: str | None,
    dask: str | None,
    isolate: bool,
    jobs: int | None,
    watched: Mapping[str, Any],
    **given: Any,
) -> None:
    """Run PASSES on models and write the module that comes out.

    Each INPUT is an ONNX file, JSON (.json), or IR as text; - is any of these on
    standard input. One ONNX file becomes the function 'main'; several become one
    module, with a function named after each file. Programs in text, also those that
    lines '// -----' part, are run one by one, and such lines part what comes out.

    Standard output has the IR, and nothing else; everything else is on standard error.

    \b
    Example:
      parpass opt resnet50.onnx vgg19.onnx -O3 --timing -o out.relay
      parpass opt resnet50.onnx -p InferType,SimplifyInference,FoldConstant
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.irs import load_irs
    from parpass.cli.files.writing import check_folder, check_suffix
    from parpass.cli.operations import optimize
    from parpass.cli.operations.pipeline import check_config
    from parpass.cli.operations.watching import WatchOptions

    adapter = load_irs(given["ir"], [path.suffix for path in inputs])
    check_config(config)
    if lists or help_pass:
        from parpass.cli.commands.listing import show  # with all operators

        show(names=[lists] if lists else [], told=help_pass, adapter=adapter)
        return
    if not inputs:
        ctx = click.get_current_context()
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    options.check_standard_input(inputs)
    check_suffix(output)
    if given["print_types"] and output.endswith(".json"):
        raise click.BadParameter(
            f"types are comments in text, and '{output}' gets JSON, which has them",
            param_hint="'--print-types'",
        )
    if given["reproducer"] is not None:
        check_folder(given["reproducer"], "--reproducer")
    watching = WatchOptions(**watched)
    watching.check({"-o": output})
    options.check_executor(jobs, executor, dask)
    named = given["cache"], given["cache_from"], given["cache_to"]
    is_cached = options.is_cached(*named)
    options.check_cache(given["verify_cache"], is_cached=is_cached)
    options.check_isolated(jobs, isolate=isolate)
    optimize.run(
        inputs,
        level=level,
        is_level_given=_is_level_given(),
        config=config,
        output=output,
        executor=executor,
        dask=dask,
        isolate=isolate,
        jobs=jobs,
        watched=watching,
        adapter=adapter,
        loaded=click.get_current_context().meta[options.LOADED],
        **given,
    )


def _is_level_given() -> bool:
    source = click.get_current_context().get_parameter_source("level")
    return source is ParameterSource.COMMANDLINE
