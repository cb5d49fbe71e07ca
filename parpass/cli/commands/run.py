"""`parpass run`: run a program, or a compiled library, on given or random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.options import shared
from parpass.cli.options.shared import ModelInputOptions
from parpass.cli.options.structs import command, group, option_struct, running
from parpass.cli.output.failure import InputError
from parpass.errors import (
    ArgumentError,
    EvaluationError,
    KernelError,
    LibraryError,
    UnknownFunctionError,
)
from parpass.errors.core import did_you_mean

LIBRARIES = (".so", ".tar")


@option_struct
class RunOptions:
    file: Path = shared.program()
    function: str = running(
        "--function",
        metavar="NAME",
        default="main",
        show_default=True,
        help="Function to evaluate.",
    )
    values: Sequence[str] = running(
        "--input",
        metavar="NAME=VALUE",
        multiple=True,
        help="Value of a parameter: a .npy file, or a number or nested list as JSON. "
        "Repeatable.",
    )
    files: Sequence[Path] = running(
        "--inputs",
        metavar="PATH",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="An .npz file with values of parameters by name; repeatable.",
    )
    seed: int = running(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        help="Seed of the random values for parameters you do not give.",
    )
    model: ModelInputOptions = group(ModelInputOptions)
    loaded: Sequence[str] = shared.load()
    output: str | None = shared.output(
        "Write the result to this file: .npy for one array, .npz for several, named "
        "output_0 and so on. By default the result is printed.",
    )


@command(
    RunOptions,
    epilog="Exit codes: 0 ok, 1 the function cannot be evaluated, 2 the command or an "
    "input is wrong, 130 interrupted.",
)
def run(given: RunOptions) -> None:
    """Evaluate a function operator by operator, with numpy.

    INPUT is what 'parpass opt' reads, or a library (.so, .tar) from 'parpass build',
    whose network is run. Parameters without --input get random values of their types;
    if a type leaves the shape open, give it by --shape. The results of a loop program
    are what it returns and the arrays it writes to.

    \b
    Example:
      parpass run model.onnx --input x=photo.npy -o scores.npy
      parpass run net.so --input x=photo.npy
      parpass run small.relay --input 'x=[[1, 2], [3, 4]]'
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files import arrays

    if given.output is not None:
        arrays.check_output(given.output)
    if given.file.suffix in LIBRARIES:
        given.model.by_name.check_unused()
        outputs = _run_library(given)
    else:
        outputs = _evaluate_program(given)
    if given.output is None:
        click.echo(arrays.as_text(outputs))
    else:
        arrays.write(outputs, given.output)


def _evaluate_program(given: RunOptions) -> list[Any]:
    from parpass.cli.files import arrays
    from parpass.cli.files.reading import read_module
    from parpass.cli.operations.values import parameters, value_of, with_sizes
    from parpass.ir.module import IRModule
    from parpass.tir.function import PrimFunc

    file, function = given.file, given.function
    written = arrays.read_values(given.values, given.files)
    asked = given.model.by_name._replace(
        given=arrays.shapes_of(written), needs_shapes=True
    )
    mod, shapes = read_module(file, model=asked, takes_shapes=True), asked.shapes
    if not isinstance(mod, IRModule):
        raise InputError(
            f"expected a program of Relay or tir to evaluate, got another IR: {file}"
        )
    if function not in mod:
        hint = did_you_mean(function, mod.functions_by_name)
        raise _no_function(function, hint)
    called = mod[function]
    is_loops = isinstance(called, PrimFunc)
    params = parameters(called, {}, shapes) if is_loops else called.params
    values = arrays.typed_values(params, written)
    if is_loops:
        values = with_sizes(called, values, shapes)
        params = parameters(called, values, shapes)
    try:
        inputs = arrays.completed(params, values, shapes, given.seed)
        return arrays.flat(value_of(called, inputs, mod))
    except EvaluationError as error:
        raise click.ClickException(f"'{function}' has no value: {error}") from None


def _run_library(given: RunOptions) -> list[Any]:
    from parpass.cli.files import arrays
    from parpass.ir.types import TensorType
    from parpass.relay.expr import Var
    from parpass.runtime.compiled_module import load_module
    from parpass.runtime.devices import cpu
    from parpass.runtime.graph_executor import GraphModule

    file = given.file
    if given.function != "main":
        raise _no_function(given.function, "; a library has one network, its 'main'")
    try:
        lib = load_module(file)
        module = GraphModule(lib[lib.manifest.module_name](cpu()))
    except UnknownFunctionError:
        raise InputError(f"library '{file}' has no network to run") from None
    except LibraryError as error:
        raise InputError(error) from None
    shapes, dtypes = module.get_input_info()
    params = [Var(name, TensorType(shapes[name], dtypes[name])) for name in shapes]
    values = arrays.typed_values(params, arrays.read_values(given.values, given.files))
    inputs = arrays.completed(params, values, {}, given.seed)
    try:
        for param, value in zip(params, inputs, strict=True):
            module.set_input(param.name_hint, value)
        module.run()
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint="'--input'") from None
    except (EvaluationError, KernelError) as error:
        raise click.ClickException(f"the network has no value: {error}") from None
    return [module.get_output(at).numpy() for at in range(module.get_num_outputs())]


def _no_function(name: str, hint: str) -> click.BadParameter:
    return click.BadParameter(f"no function '{name}'{hint}", param_hint="'--function'")
