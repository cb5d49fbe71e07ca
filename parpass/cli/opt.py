"""`parpass opt`: read models, run a pipeline on them, write the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from parpass.cli import options
from parpass.cli.command import Command, Option
from parpass.cli.failure import PassFailure
from parpass.cli.writing import write_modules

if TYPE_CHECKING:
    from parpass.cli.watching import Watching
    from parpass.ir.module import IRModule
    from parpass.transform import Pass, PassContext, Sequential


def _print(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return the callback of an option that prints a listing instead of running."""

    def show(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if not value or ctx.resilient_parsing:
            return
        from parpass.cli import listing
        from parpass.errors import UnknownPassError

        arguments = [value] if isinstance(value, str) else []
        try:
            click.echo(getattr(listing, name)(*arguments), nl=False)
        except UnknownPassError as error:
            raise click.BadParameter(str(error), ctx, param) from None
        ctx.exit()

    return show


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
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@options.running(
    "-p",
    "--passes",
    "--pass-pipeline",
    "passes",
    metavar="PASSES",
    help=f"{options.PASSES_HELP} Without it the passes of the level that -O gives are "
    "run; without both the module is only read and written.",
)
@options.level
@options.config
@options.jobs
@options.isolate
@options.load
@options.function_timeout
@options.memory_limit
@options.on_failure
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
    help="Where to write the IR; - is standard output.",
)
@options.writing(
    "--print-metadata",
    is_flag=True,
    help="Write the values of constants too, at the end. Weights of real networks take "
    "hundreds of megabytes as text; without them the IR shows "
    "meta[relay.Constant][N] in their places.",
)
@options.writing(
    "--reproducer",
    metavar="PATH",
    help="When a pass fails, write what is needed to run it again to this file, or in "
    "this folder. See parpass replay.",
)
@options.showing(
    "--print-ir-before",
    metavar="[=NAMES]",
    multiple=True,
    help="Print the IR before these passes, separated by commas; without names, "
    "before each pass.",
)
@options.showing(
    "--print-ir-after",
    metavar="[=NAMES]",
    multiple=True,
    help="Print the IR after these passes.",
)
@options.showing(
    "--print-ir-before-all",
    is_flag=True,
    help="Print the IR before each pass.",
)
@options.showing(
    "--print-ir-after-all",
    is_flag=True,
    help="Print the IR after each pass.",
)
@options.showing(
    "--dump-pass-pipeline",
    is_flag=True,
    help="Print the passes and their options, as text for -p.",
)
@options.showing(
    "--verify-each",
    is_flag=True,
    help="Check that the IR is well formed before and after each pass.",
)
@options.showing(
    "--check-contract",
    is_flag=True,
    help="Check that function passes change nothing but what they return, and depend "
    "on neither hash seed nor process nor order.",
)
@options.showing(
    "--timing",
    is_flag=True,
    help="Show how long each pass took.",
)
@options.showing(
    "--explain-speed",
    is_flag=True,
    help="Show where the time went, what the workers did, and what would make the run "
    "faster.",
)
@options.showing(
    "--statistics",
    is_flag=True,
    help="Show what passes counted.",
)
@options.traceback
@_listing(
    "--list-passes",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print("list_passes"),
    help="List the passes and exit.",
)
@_listing(
    "--help-pass",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_print("help_pass"),
    help="Tell about a pass and its options and exit.",
)
@_listing(
    "--list-configs",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print("list_configs"),
    help="List the keys for --config and exit.",
)
def opt(
    *,
    inputs: Sequence[Path],
    passes: str | None,
    level: int,
    config: Sequence[str],
    function_timeout: float | None,
    memory_limit: int | None,
    on_failure: str | None,
    opt_bisect_limit: int | None,
    opt_bisect: str | None,
    reproducer: str | None,
    jobs: int | None,
    isolate: bool,
    output: str,
    print_metadata: bool,
    dump_pass_pipeline: bool,
    check_contract: bool,
    traceback: bool,
    **shown: Any,
) -> None:
    """Run PASSES on models and write the module that comes out.

    Each INPUT is an ONNX file, or IR as text; - is text on standard input. One ONNX
    file becomes the function 'main'; several become one module, with a function named
    after each file. Programs in text, also those that lines '// -----' part, are run
    one by one, and such lines part what comes out.

    Standard output has the IR, and nothing else; everything else is on standard error.

    \b
    Example:
      parpass opt resnet50.onnx vgg19.onnx -O3 --timing -o out.relay
      parpass opt resnet50.onnx -p InferType,SimplifyInference,FoldConstant
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    _check_directory(output)
    from parpass.cli.reading import read_modules

    if passes is None:
        passes = _default_passes(level)
    if passes is None:
        write_modules(read_modules(inputs), output, print_metadata=print_metadata)
        return
    from parpass.cli.pipeline import dump_pipeline, make_context, read_pipeline
    from parpass.cli.watching import Watching

    pipeline = read_pipeline(passes)
    watching = Watching(**shown)
    settings = {
        "function_timeout": function_timeout,
        "memory_limit": memory_limit,
        "on_failure": on_failure,
        "opt_bisect_limit": opt_bisect_limit,
        "opt_bisect": opt_bisect,
        "reproducer": reproducer,
        "check_contract": check_contract or None,
        "isolated": isolate or None,
    }
    if isolate and jobs == 0:
        raise click.BadParameter(
            "an isolated run has its passes in workers, and -j0 is for none",
            param_hint="'--isolate'",
        )
    context = make_context(pipeline, level, config, watching, settings)
    modules = read_modules(inputs)
    if dump_pass_pipeline:
        dump_pipeline(pipeline)
    try:
        modules = _run(modules, pipeline, context, jobs, watching, traceback=traceback)
    finally:
        watching.report()
    write_modules(modules, output, print_metadata=print_metadata)


def _default_passes(level: int) -> str | None:
    """Return the pipeline that stands for -O alone; None if -O was not given."""
    source = click.get_current_context().get_parameter_source("level")
    if source is not ParameterSource.COMMANDLINE:
        return None
    return f"DefaultPipeline{{opt-level={level}}}"


def _check_directory(output: str) -> None:
    directory = Path(output).parent
    if not directory.is_dir():
        raise click.BadParameter(
            f"directory '{directory}' does not exist", param_hint="'-o'"
        )


def _run(
    modules: Sequence[IRModule],
    pipeline: Sequential,
    context: PassContext,
    jobs: int | None,
    watching: Watching,
    *,
    traceback: bool,
) -> list[IRModule]:
    from parpass import open_runner

    for name, level in _skipped(pipeline, context).items():
        click.echo(f"Note: pass '{name}' does not run below -O{level}.", err=True)
    made: list[IRModule] = []
    with open_runner(workers=jobs) as runner:
        for module in modules:
            try:
                made.append(runner.run_sync(module, pipeline, context=context))
            except Exception as error:  # noqa: BLE001 -- a pass may raise anything
                raise PassFailure(error, with_traceback=traceback) from None
            finally:
                watching.take(runner.last_report)
    return made


def _skipped(pipeline: Pass | None, context: PassContext) -> dict[str, int]:
    """Return the levels of the passes that do not run, by their names."""
    from parpass.transform import Sequential

    levels: dict[str, int] = {}
    for a_pass in pipeline.passes if isinstance(pipeline, Sequential) else ():
        if a_pass is None or context.pass_enabled(a_pass.info):
            levels |= _skipped(a_pass, context)
        else:
            levels[a_pass.info.name] = a_pass.info.opt_level
    return levels
