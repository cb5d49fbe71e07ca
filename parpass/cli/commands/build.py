"""`parpass build`: compile networks to libraries of machine code."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.files.reading import ModelOptions
from parpass.cli.options import shared
from parpass.cli.options.shared import CacheOptions, ModelInputOptions
from parpass.cli.options.structs import (
    command,
    group,
    option_struct,
    running,
    writing,
)
from parpass.cli.options.watching import WatchOptions
from parpass.cli.output.failure import (
    InputError,
    PassFailure,
    command_text,
    unwritable,
)

if TYPE_CHECKING:
    from parpass.cli.operations.watching import Watching
    from parpass.cli.output.tables import BuildTimes
    from parpass.ir.module import IRModule
    from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
    from parpass.relay.backend.kernel_map import KernelMap
    from parpass.relay.backend.network_library import PipelineRun
    from parpass.report.html.page import Recording
    from parpass.runner import RunReport
    from parpass.target.target import Target
    from parpass.transform import Pass

    Runs = Generator[PipelineRun, Any, list[GraphExecutorFactoryModule]]

Tell = Callable[[str], None]

_SLOW_SECONDS = 1.0  # after which a run of a build is reported


@option_struct
class BuildOptions:
    files: Sequence[Path] = shared.program("INPUT...", nargs=-1, required=True)
    level: int = shared.level(
        3, "Optimization level, -O0 to -O4. Passes of a higher level are skipped."
    )
    config: Sequence[str] = shared.config()
    target: str = running(
        "--target",
        metavar="TARGET",
        default="llvm",
        show_default="this machine",
        help="Machine to compile for, such as 'llvm -mcpu=x86-64-v3'.",
    )
    jobs: int | None = shared.jobs()
    loaded: Sequence[str] = shared.load()
    model: ModelInputOptions = group(ModelInputOptions)
    results: CacheOptions = group(CacheOptions)
    no_cache: bool = running(
        "--no-cache",
        is_flag=True,
        help="Compile every kernel. By default a build reuses kernels of earlier "
        "builds from disk and runs no pass on them. See 'parpass cache'.",
    )
    output: str = writing(
        *("-o", "--output"),
        metavar="OUT",
        type=click.Path(writable=True),
        required=True,
        help="Library file to write; for several INPUTs the folder for 'NAME.so' of "
        "each NAME.onnx.",
    )
    header: str | None = shared.written(
        "--header",
        metavar="PATH",
        help="Add a function that C can call to the library, and write its header to "
        "this file. For one INPUT.",
    )
    emit_map: str | None = shared.written(
        "--emit-map",
        metavar="PATH",
        help="Write a map of the kernels as JSON: their source lines and the place of "
        "their code in the library. See 'parpass kernels'. For one INPUT.",
    )
    watched: WatchOptions = group(WatchOptions)
    traceback: bool = shared.traceback()


@command(
    BuildOptions,
    epilog="Exit codes: 0 ok, 1 the network cannot be compiled, 2 the command or an "
    "input is wrong, 130 interrupted.",
)
def build(given: BuildOptions) -> None:
    """Compile networks to libraries, on every core.

    INPUT is what 'parpass opt' reads; its function 'main' is the network. The library
    holds code, graph and weights. Run it by 'parpass run', or in Python by
    parpass.runtime.load_module, which needs only numpy.

    Several networks are one build: first each is simplified by one worker, then all
    kernels are compiled, equal ones once. Each gets the library that it gets alone. If
    one fails, nothing is written.

    \b
    Example:
      parpass build model.onnx -o net.so -j 4
      parpass run net.so --input x=image.npy
      parpass build resnet50.onnx squeezenet.onnx -o .
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.writing import write_text
    from parpass.cli.operations.executors import function_cache, opening_runner
    from parpass.cli.operations.pipeline import make_contexts
    from parpass.cli.operations.watching import Watching
    from parpass.cli.output.tables import BuildTimes, print_build_times
    from parpass.transform import Sequential

    outputs = _checked(given)
    asked, header = given.watched, given.header
    kept = function_cache(given.results)
    is_single = len(given.files) == 1
    kernel_map = _new_map(given.emit_map, asked.report) if is_single else None
    machine = _target(given.target)
    # Commands of dumps run passes that a command without a build does not load.
    loaded = (*given.loaded, "parpass.target.build_library")
    watching = Watching(asked, _passes(machine, is_single=is_single), loaded)
    contexts = make_contexts(
        asked.repeat or 1,
        Sequential([]),
        given.level,
        given.config,
        watching.instruments,
        {},
    )
    times = BuildTimes(reports=watching.reports)
    with times.files.reading():
        networks = {
            _name(file): _network(file, given.model.by_name) for file in given.files
        }

    def tell(text: str) -> None:
        if not asked.quiet:
            click.echo(text, err=True)

    with contextlib.ExitStack() as stack:
        runner = stack.enter_context(opening_runner(given.jobs, None, cache=kept))
        what = f"parpass build -O{given.level}"
        recording = stack.enter_context(
            watching.around(runner, contexts, pipeline=what, jobs=given.jobs)
        )
        stack.enter_context(contexts.first)
        stack.enter_context(machine)
        runs = _runs(
            networks,
            machine,
            is_c=header is not None,
            cache=kept is None and not given.no_cache,
            kernel_map=kernel_map,
        )
        try:
            libs = _compile(runs, watching, times, tell)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            raise PassFailure(error, with_traceback=given.traceback) from None
        finally:
            watching.report()
        origins = None
        if kernel_map is not None:
            origins = _origins(kernel_map, libs[0], recording)
    with times.files.writing():
        for lib, output in zip(libs, outputs.values(), strict=True):
            _write(lib, output)
        if header is not None:
            write_text(libs[0].c_header(), header)
    if given.emit_map is not None and origins is not None:
        _write_map(origins, given.emit_map)
    for name, lib in zip(networks, libs, strict=True):
        _report_numpy(lib, "" if is_single else f" of '{name}'", tell)
    if asked.explain_speed:
        print_build_times(times)


def _checked(given: BuildOptions) -> dict[str, str]:
    """Check the options before anything is read; return the output files."""
    from parpass.cli.files.writing import check_suffix
    from parpass.cli.operations.pipeline import check_config

    check_config(given.config)
    check_suffix(given.output)
    given.results.check()
    if given.no_cache and given.results.is_cached:
        raise click.UsageError("expected one of --cache and --no-cache, got both")
    outputs = _outputs(given)
    others = {"--header": given.header, "--emit-map": given.emit_map}
    given.watched.check({**outputs, **others})
    return outputs


def _outputs(given: BuildOptions) -> dict[str, str]:
    """Return the files of the libraries, by their name in messages."""
    if len(given.files) == 1:
        if os.path.isdir(given.output):
            raise click.BadParameter(
                f"expected a file, got the folder '{given.output}'", param_hint="'-o'"
            )
        return {"-o": given.output}
    shared.check_standard_input(given.files)
    for option, path in (("--header", given.header), ("--emit-map", given.emit_map)):
        if path is not None:
            raise click.UsageError(
                f"{option} is for one INPUT, got {len(given.files)}: build that alone"
            )
    if not os.path.isdir(given.output):
        raise click.BadParameter(
            f"expected a folder that exists for {len(given.files)} libraries, got "
            f"'{given.output}'",
            param_hint="'-o'",
        )
    named: dict[str, Path] = {}
    for file in given.files:
        other = named.setdefault(_name(file), file)
        if other is not file:
            raise click.UsageError(
                f"the libraries of '{other}' and '{file}' would be one file"
            )
    return {
        f"-o, for {file}": os.path.join(given.output, f"{name}.so")
        for name, file in named.items()
    }


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else file.stem


def _target(text: str) -> Target:
    from parpass.errors import TargetError
    from parpass.target.target import Target

    try:
        return Target(text).resolved()
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="'--target'") from None


def _passes(machine: Target, *, is_single: bool) -> Pass:
    """Return the passes of builds, for their names."""
    from parpass.relay.backend.lowering.lower_to_tir import LowerToTIR
    from parpass.relay.network_module import FuseNetwork, network_pipeline
    from parpass.target.build_library import lowering
    from parpass.transform import Sequential

    first = network_pipeline() if is_single else FuseNetwork()
    return Sequential([first, LowerToTIR(machine), lowering(machine)])


def _network(file: Path, model: ModelOptions) -> IRModule:
    from parpass.cli.files.reading import read_module
    from parpass.errors import CodeGenError
    from parpass.ir.module import IRModule
    from parpass.relay.backend.graph_executor_codegen import check_parameter_shapes
    from parpass.relay.expr import Function

    mod = read_module(file, model=model._replace(needs_shapes=True))
    if not isinstance(mod, IRModule) or "main" not in mod:
        raise InputError(
            f"{file}: expected a Relay program with a function 'main' to build"
        )
    if isinstance(mod["main"], Function):
        try:
            check_parameter_shapes(mod["main"])
        except CodeGenError as error:
            raise InputError(f"{file}: {command_text(error)}") from None
    return mod


def _runs(
    networks: Mapping[str, IRModule],
    machine: Target,
    *,
    is_c: bool,
    cache: bool,
    kernel_map: KernelMap | None,
) -> Runs:
    """Return the runs of a build, and the libraries in the order of the networks."""
    from parpass.relay.build_module import network_runs, networks_runs

    if len(networks) > 1:
        libs = yield from networks_runs(networks, machine, cache=cache)
        return list(libs.values())
    [mod] = networks.values()
    executor = "aot" if is_c else "graph"
    lib = yield from network_runs(
        mod, machine, executor=executor, cache=cache, kernel_map=kernel_map
    )
    return [lib]


def _compile(
    runs: Runs, watching: Watching, times: BuildTimes, tell: Tell
) -> list[GraphExecutorFactoryModule]:
    """Run the pipelines of a build one after the other; return the libraries."""
    from parpass.ir.module import IRModule
    from parpass.relay.backend.lowering import left_to_numpy
    from parpass.target.code_gen import long_kernels
    from parpass.transform import PassContext

    made = None
    while True:
        began = time.perf_counter()
        try:
            wanted = runs.send(made)
        except StopIteration as end:
            times.link = time.perf_counter() - began
            times.long_kernels = long_kernels(PassContext.current())
            return end.value
        tell(f"{wanted.what}...")
        made = watching.run(wanted.mod, wanted.pipeline)
        if isinstance(made, IRModule):  # several networks have no kernels yet
            times.left_to_numpy |= left_to_numpy(made)
        _report_if_slow(times.reports[-1], tell)


def _report_if_slow(report: RunReport, tell: Tell) -> None:
    from parpass.report.figures import time_text

    if report.seconds > _SLOW_SECONDS:
        longest = report.largest_function
        seconds = report.largest_function_seconds
        which = f"; slowest '{longest}', {time_text(seconds)}" if longest else ""
        tell(f"... in {time_text(report.seconds)}{which}")


def _report_numpy(lib: GraphExecutorFactoryModule, of: str, tell: Tell) -> None:
    if lib.numpy_functions:
        names = ", ".join(lib.numpy_functions)
        tell(
            f"Note: no lowering rule applies to these functions{of}, so numpy computes "
            f"them: {names}"
        )


def _write(lib: GraphExecutorFactoryModule, output: str) -> None:
    try:
        lib.export_library(output)
    except OSError as error:
        raise unwritable(output, error) from None


def _new_map(*wanted: str | None) -> KernelMap | None:
    """Return a map to be filled, if an output shows it."""
    if not any(wanted):
        return None
    from parpass.relay.backend.kernel_map import KernelMap

    return KernelMap()


def _origins(
    kernel_map: KernelMap,
    lib: GraphExecutorFactoryModule,
    recording: Recording | None,
) -> dict[str, Any] | None:
    """Return the map of a build for JSON, and add it to the page, if any.

    Returns None, with a warning, if there is no map.
    """
    from parpass.cli.output.kernel_chains import chains_of

    try:
        origins = kernel_map.exported(lib.module.image)
    except Exception as error:  # noqa: BLE001 -- lowering rules may raise anything
        click.echo(f"Warning: no map: {type(error).__name__}: {error}", err=True)
        return None
    if recording is not None:
        recording.chains = chains_of(origins)
    return origins


def _write_map(origins: dict[str, Any], path: str) -> None:
    """Write the map; warn if that fails."""
    from parpass.cli.files.writing import write_text

    try:
        write_text(f"{json.dumps(origins, indent=1)}\n", path)
    except InputError as error:
        click.echo(f"Warning: no map: {error.message}", err=True)
