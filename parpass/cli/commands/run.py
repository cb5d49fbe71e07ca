"""`parpass run`: evaluate a function of a program on given or random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.command import Command
from parpass.cli.showing.failure import InputError

if TYPE_CHECKING:
    from parpass.ir.module import IRModule


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

    INPUT is what parpass opt reads. Parameters whose value is not given get random
    values of their types; where a type leaves the shape open, --shape says it. Of a
    loop program the values are what it returns, and the arrays that it writes to.

    \b
    Example:
      parpass run model.onnx --input x=photo.npy -o scores.npy
      parpass run small.relay --input 'x=[[1, 2], [3, 4]]'
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files import arrays
    from parpass.cli.work import loop_values
    from parpass.cli.work.values import value_of
    from parpass.errors import EvaluationError, did_you_mean
    from parpass.tir.function import PrimFunc

    mod = _read(file, dict(shapes))
    if function not in mod:
        hint = did_you_mean(function, mod.functions_by_name)
        raise click.BadParameter(
            f"no function '{function}'{hint}", param_hint="'--function'"
        )
    called, sizes = mod[function], dict(shapes)
    is_loops = isinstance(called, PrimFunc)
    params = loop_values.parameters(called, {}, sizes) if is_loops else called.params
    values = arrays.given_values(params, given, files)
    if is_loops:
        values = loop_values.with_sizes(called, values, sizes)
        params = loop_values.parameters(called, values, sizes)
    try:
        inputs = arrays.completed(params, values, sizes, seed)
        outputs = arrays.flat(value_of(called, inputs, mod))
    except EvaluationError as error:
        raise click.ClickException(f"'{function}' has no value: {error}") from None
    if output is None:
        click.echo(arrays.as_text(outputs))
    else:
        arrays.write(outputs, output)


def _read(file: Path, shapes: dict[str, Sequence[Any]]) -> IRModule:
    from parpass.cli.files.reading import read_module
    from parpass.ir.module import IRModule

    mod = read_module(file, shapes=shapes)
    if not isinstance(mod, IRModule):
        raise InputError(
            f"expected a program of Relay or tir to evaluate, got another IR: {file}"
        )
    return mod
