"""`parpass build`: compile a network to a library of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.command import Command


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 1 it cannot be compiled, 2 the command or an input is "
    "wrong, 130 interrupted.",
)
@options.PROGRAM
@options.running(
    "-O",
    "level",
    metavar="LEVEL",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Run the passes of this optimization level and below: -O0 to -O3.",
)
@options.config
@options.running(
    "--target",
    metavar="TARGET",
    default="llvm",
    show_default="this machine",
    help="The machine to compile for, such as 'llvm -mcpu=x86-64-v3'.",
)
@options.jobs
@options.load
@options.shape
@options.running(
    "--cache/--no-cache",
    default=True,
    help="Whether kernels that an earlier build compiled are taken from disk, and new "
    "ones kept there. See parpass cache.",
)
@options.writing(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    required=True,
    help="The file of the library.",
)
@options.writing(
    "--header",
    metavar="PATH",
    type=click.Path(dir_okay=False, writable=True),
    help="Have the library contain a function that C calls, and write the header that "
    "declares it to this file.",
)
@options.showing(
    "-q", "--quiet", is_flag=True, help="Show nothing of what is being done."
)
@options.showing(
    "--explain-speed",
    is_flag=True,
    help="Show where the time went: lowering, passes on loops, LLVM, linking; and what "
    "would make the build faster.",
)
@options.traceback
def build(
    *,
    file: Path,
    level: int,
    config: Sequence[str],
    shapes: Sequence[tuple[str, Sequence[Any]]],
    output: str,
    **given: Any,
) -> None:
    """Compile a network to a library, on every core.

    INPUT is what parpass opt reads; its function 'main' is the network. The library has
    code, graph and weights; parpass run runs it, as does Python by
    parpass.runtime.load_module, which takes numpy alone.

    \b
    Example:
      parpass build model.onnx -o net.so -j 4
      parpass run net.so --input x=image.npy
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.reading import read_module
    from parpass.cli.files.writing import check_output
    from parpass.cli.work import building
    from parpass.cli.work.pipeline import check_config

    check_config(level, config)
    check_output(output)
    building.run(
        lambda: read_module(file, shapes=dict(shapes)),
        level=level,
        config=config,
        output=output,
        **given,
    )
