"""What `parpass run` does: a program's function is evaluated, or a library is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.files import arrays
from parpass.cli.files.reading import read_module
from parpass.cli.showing.failure import InputError
from parpass.cli.work import loop_values
from parpass.cli.work.values import value_of
from parpass.errors import (
    ArgumentError,
    EvaluationError,
    KernelError,
    LibraryError,
    UnknownFunctionError,
    did_you_mean,
)
from parpass.ir.module import IRModule
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Var
from parpass.runtime.compiled_module import load_module
from parpass.runtime.devices import cpu
from parpass.runtime.graph_executor import GraphModule
from parpass.tir.function import PrimFunc

LIBRARIES = (".so", ".tar")


def of_program(
    file: Path,
    function: str,
    given: Sequence[str],
    files: Sequence[Path],
    shapes: Mapping[str, Sequence[Any]],
    seed: int,
) -> list[Any]:
    """Return what a function of a program gives.

    Raises:
        click.ClickException: It gives nothing, or what was given is wrong.
    """
    mod = read_module(file, shapes=shapes)
    if not isinstance(mod, IRModule):
        raise InputError(
            f"expected a program of Relay or tir to evaluate, got another IR: {file}"
        )
    if function not in mod:
        hint = did_you_mean(function, mod.functions_by_name)
        raise _no_function(function, hint)
    called = mod[function]
    is_loops = isinstance(called, PrimFunc)
    params = loop_values.parameters(called, {}, shapes) if is_loops else called.params
    values = arrays.given_values(params, given, files)
    if is_loops:
        values = loop_values.with_sizes(called, values, shapes)
        params = loop_values.parameters(called, values, shapes)
    try:
        inputs = arrays.completed(params, values, shapes, seed)
        return arrays.flat(value_of(called, inputs, mod))
    except EvaluationError as error:
        raise click.ClickException(f"'{function}' has no value: {error}") from None


def of_library(
    file: Path, function: str, given: Sequence[str], files: Sequence[Path], seed: int
) -> list[Any]:
    """Return what the network of a library gives.

    Raises:
        click.ClickException: It gives nothing, or what was given is wrong.
    """
    if function != "main":
        raise _no_function(function, "; a library has one network, its 'main'")
    try:
        lib = load_module(file)
        module = GraphModule(lib[lib.manifest.module_name](cpu()))
    except UnknownFunctionError:
        raise InputError(f"library '{file}' has no network to run") from None
    except LibraryError as error:
        raise InputError(str(error)) from None
    shapes, dtypes = module.get_input_info()
    params = [Var(name, TensorType(shapes[name], dtypes[name])) for name in shapes]
    values = arrays.given_values(params, given, files)
    inputs = arrays.completed(params, values, {}, seed)
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
