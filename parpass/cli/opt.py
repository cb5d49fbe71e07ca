"""`parpass opt`: read models, run a pipeline on them, write the result."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.failure import InputError, PassFailure

if TYPE_CHECKING:
    from parpass.relay.module import IRModule
    from parpass.transform import PassContext, Sequential


def _print_passes(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from parpass.cli.listing import list_passes

    click.echo(list_passes(), nl=False)
    ctx.exit()


@click.command(
    epilog="Exit codes: 0 ok, 1 a pass failed, 2 the command, a pipeline or an input "
    "is wrong, 130 interrupted."
)
@click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "-p",
    "--passes",
    "--pass-pipeline",
    "passes",
    metavar="PASSES",
    help="The passes, separated by commas; options in braces, separated by blanks: "
    "'DeadCodeElimination{inline-once=true}'. Without it the module is only read and "
    "written.",
)
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(min=0),
    show_default="every core",
    help="How many processes at most; 0 stays in one.",
)
@click.option(
    "-O",
    "level",
    metavar="LEVEL",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Run the passes of this optimization level and below, as in -O3.",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    default="-",
    show_default=True,
    help="Where to write the IR; - is standard output.",
)
@click.option(
    "--print-metadata",
    is_flag=True,
    help="Write the values of constants too, at the end. Weights of real networks take "
    "hundreds of megabytes as text; without them the IR shows "
    "meta[relay.Constant][N] in their places.",
)
@click.option("--timing", is_flag=True, help="Show how long each pass took.")
@click.option("--traceback", is_flag=True, help="Show where a failing pass failed.")
@click.option(
    "--list-passes",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_passes,
    help="List the passes and exit.",
)
def opt(
    *,
    inputs: Sequence[Path],
    passes: str | None,
    jobs: int | None,
    level: int,
    output: str,
    print_metadata: bool,
    timing: bool,
    traceback: bool,
) -> None:
    """Run PASSES on models and write the module that comes out.

    Each INPUT is an ONNX file. One becomes the function 'main'; several become one
    module, with a function named after each file.

    Standard output has the IR, and nothing else; everything else is on standard error.

    \b
    Example:
      parpass opt resnet50.onnx vgg19.onnx -O3 --timing -o out.relay \\
        -p InferType,SimplifyInference,FoldConstant,EliminateCommonSubexpr
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    _check_directory(output)
    pipeline = _pipeline(passes)
    module = _read(inputs)
    if pipeline is not None:
        module = _run(module, pipeline, jobs, level, timing=timing, traceback=traceback)
    _write(module, output, print_metadata=print_metadata)


def _check_directory(output: str) -> None:
    directory = Path(output).parent
    if not directory.is_dir():
        raise click.BadParameter(
            f"directory '{directory}' does not exist", param_hint="'-o'"
        )


def _pipeline(passes: str | None) -> Sequential | None:
    if passes is None:
        return None
    import_module("parpass.relay")  # makes its passes known
    from parpass.errors import ArgumentError, PipelineSyntaxError, UnknownPassError
    from parpass.transform import parse_pipeline

    try:
        return parse_pipeline(passes)
    except (PipelineSyntaxError, UnknownPassError, ArgumentError) as error:
        raise click.BadParameter(str(error), param_hint="'-p'") from None


def _read(inputs: Sequence[Path]) -> IRModule:
    for path in inputs:
        if path.suffix.lower() != ".onnx":
            raise InputError(
                f"'{path}' is no .onnx file; other formats, IR as text among them, "
                "cannot be read yet"
            )
    from parpass.errors import FrontendError

    try:
        from parpass.relay.frontend import from_onnx

        return from_onnx(inputs)
    except (FrontendError, OSError, ImportError) as error:
        raise InputError(str(error)) from None


def _run(
    module: IRModule,
    pipeline: Sequential,
    jobs: int | None,
    level: int,
    *,
    timing: bool,
    traceback: bool,
) -> IRModule:
    from parpass import PassContext, run_pipeline_sync
    from parpass.instrument import PassTimingInstrument

    instrument = PassTimingInstrument()
    context = PassContext(level, instruments=[instrument] if timing else [])
    _tell_of_skipped(pipeline, context)
    try:
        return run_pipeline_sync(module, pipeline, context=context, workers=jobs)
    except Exception as error:  # noqa: BLE001 -- a pass may raise anything
        raise PassFailure(error, with_traceback=traceback) from None
    finally:
        if timing:
            from parpass.cli.timing_table import print_timing_table

            print_timing_table(instrument.profiles)


def _tell_of_skipped(pipeline: Sequential, context: PassContext) -> None:
    levels: dict[str, int] = {
        a_pass.info.name: a_pass.info.opt_level
        for a_pass in pipeline.passes
        if a_pass is not None and not context.pass_enabled(a_pass.info)
    }
    for name, level in levels.items():
        click.echo(f"Note: pass '{name}' does not run below -O{level}.", err=True)


def _write(module: Any, output: str, *, print_metadata: bool) -> None:
    text = module.astext(show_meta_data=print_metadata).rstrip("\n") + "\n"
    try:
        with click.open_file(output, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
    except BrokenPipeError:
        raise  # whoever read it has seen enough; click ends quietly
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None
    if output != "-" and not print_metadata and "meta[relay." in text:
        click.echo(
            f"Note: '{output}' has no values of constants; see --print-metadata.",
            err=True,
        )
