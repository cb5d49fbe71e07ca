"""`parpass opt`: read models, run a pipeline on them, write the result."""

from __future__ import annotations

import click

from parpass.cli.options.opt import OptOptions
from parpass.cli.options.shared import check_standard_input
from parpass.cli.options.structs import command


@command(
    OptOptions,
    epilog="Exit codes: 0 ok, 1 a pass failed, 2 the command, a pipeline or an input "
    "is wrong, 130 interrupted.",
)
def opt(given: OptOptions) -> None:
    """Run PASSES on models and write the resulting module.

    Each INPUT is an ONNX file, JSON (.json), or IR as text; - reads standard input. One
    ONNX file becomes the function 'main'; several become one module, with a function
    named after each file. Programs in text run one by one; lines '// -----' separate
    them in a file, and in the output.

    Only the IR goes to standard output; everything else goes to standard error.

    \b
    Example:
      parpass opt resnet50.onnx vgg19.onnx -O3 --timing -o out.relay
      parpass opt resnet50.onnx -p InferType,SimplifyInference,FoldConstant
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.irs import load_irs
    from parpass.cli.files.writing import check_folder, check_suffix
    from parpass.cli.operations import optimize
    from parpass.cli.operations.pipeline import check_config

    adapter = load_irs(given.ir, [path.suffix for path in given.inputs])
    check_config(given.config)
    if given.listings or given.help_pass:
        from parpass.cli.options.listing import show  # with all operators

        show(names=given.listings, told=given.help_pass, adapter=adapter)
        return
    if not given.inputs:
        ctx = click.get_current_context()
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    check_standard_input(given.inputs)
    check_suffix(given.output)
    if given.print_types and given.output.endswith(".json"):
        raise click.BadParameter(
            f"--print-types adds comments to text, and '{given.output}' is JSON, "
            "which has types anyway",
            param_hint="'--print-types'",
        )
    if given.reproducer is not None:
        check_folder(given.reproducer, "--reproducer")
    given.watched.check({"-o": given.output})
    given.workers.check(dask=given.dask, isolate=given.isolate)
    given.results.check()
    optimize.run(given, adapter)
