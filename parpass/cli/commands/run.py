"""`parpass run`: run a program, or a compiled library, on given or random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.command import Command


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 1 it cannot be evaluated, 2 the command or an input is "
    "wrong, 130 interrupted.",
)
@options.PROGRAM
@options.running(
    "--function",
    metavar="NAME",
    default="main",
    show_default=True,
    help="The function to evaluate.",
)
@options.running(
    "--input",
    "given",
    metavar="NAME=VALUE",
    multiple=True,
    help="The value of a parameter: the path of a .npy file, or a number or nested "
    "list as JSON; may be given again.",
)
@options.running(
    "--inputs",
    "files",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An .npz file with values of parameters by name; may be given again.",
)
@options.running(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of the values of parameters that are not given, which are random.",
)
@options.shape
@options.load
@options.writing(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    help="Write what comes out to this file: .npy for one array, .npz for several, "
    "named output_0 and so on. Otherwise it is printed.",
)
def run(
    *,
    file: Path,
    function: str,
    given: Sequence[str],
    files: Sequence[Path],
    seed: int,
    shapes: Sequence[tuple[str, Sequence[Any]]],
    output: str | None,
) -> None:
    """Evaluate a function of a program, operator by operator, on numpy.

    INPUT is what parpass opt reads, or a library (.so, .tar) that parpass build has
    made, whose network is run then. Parameters whose value is not given get random
    values of their types; where a type leaves the shape open, --shape says it. Of a
    loop program the values are what it returns, and the arrays that it writes to.

    \b
    Example:
      parpass run model.onnx --input x=photo.npy -o scores.npy
      parpass run net.so --input x=photo.npy
      parpass run small.relay --input 'x=[[1, 2], [3, 4]]'
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files import arrays
    from parpass.cli.work import evaluating

    if file.suffix in evaluating.LIBRARIES:
        outputs = evaluating.of_library(file, function, given, files, seed)
    else:
        outputs = evaluating.of_program(
            file, function, given, files, dict(shapes), seed
        )
    if output is None:
        click.echo(arrays.as_text(outputs))
    else:
        arrays.write(outputs, output)
