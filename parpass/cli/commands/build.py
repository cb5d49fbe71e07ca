"""`parpass build`: compile a network to a library of machine code."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.files.reading import ModelOptions
from parpass.cli.options import shared
from parpass.cli.options.shared import CacheOptions, ModelInputOptions
from parpass.cli.options.structs import command, group, option_struct, running
from parpass.cli.options.watching import WatchOptions
from parpass.cli.output.failure import InputError, PassFailure

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

Tell = Callable[[str], None]

_SLOW_SECONDS = 1.0  # seconds


@option_struct
class BuildOptions:
    file: Path = shared.program()
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
    output: str = shared.output("Library file to write.", required=True)
    header: str | None = shared.written(
        "--header",
        metavar="PATH",
        help="Add a function that C can call to the library, and write its header to "
        "this file.",
    )
    emit_map: str | None = shared.written(
        "--emit-map",
        metavar="PATH",
        help="Write a map of the kernels as JSON: their source lines and the place of "
        "their code in the library. See 'parpass kernels'.",
    )
    watched: WatchOptions = group(WatchOptions)
    traceback: bool = shared.traceback()


@command(
    BuildOptions,
    epilog="Exit codes: 0 ok, 1 the network cannot be compiled, 2 the command or an "
    "input is wrong, 130 interrupted.",
)
def build(given: BuildOptions) -> None:
    """Compile a network to a library, on every core.

    INPUT is what 'parpass opt' reads; its function 'main' is the network. The library
    holds code, graph and weights. Run it by 'parpass run', or in Python by
    parpass.runtime.load_module, which needs only numpy.

    \b
    Example:
      parpass build model.onnx -o net.so -j 4
      parpass run net.so --input x=image.npy
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.writing import check_suffix, write_text
    from parpass.cli.operations.executors import function_cache, opening_runner
    from parpass.cli.operations.pipeline import check_config, make_contexts
    from parpass.cli.operations.watching import Watching
    from parpass.cli.output.tables import BuildTimes, print_build_times
    from parpass.transform import Sequential

    check_config(given.config)
    check_suffix(given.output)
    given.results.check()
    if given.no_cache and given.results.is_cached:
        raise click.UsageError("expected one of --cache and --no-cache, got both")
    asked, header = given.watched, given.header
    kept = function_cache(given.results)
    asked.check({"-o": given.output, "--header": header, "--emit-map": given.emit_map})
    kernel_map = _new_map(given.emit_map, asked.report)
    machine = _target(given.target)
    # Commands of dumps run passes that a command without a build does not load.
    loaded = (*given.loaded, "parpass.target.build_library")
    watching = Watching(asked, _passes(machine), loaded)
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
        mod = _network(given.file, given.model.by_name)

    def tell(text: str) -> None:
        if not asked.quiet:
            click.echo(text, err=True)

    with contextlib.ExitStack() as stack:
        runner = stack.enter_context(opening_runner(given.jobs, None, cache=kept))
        what = f"parpass build -O{given.level}"
        recording = stack.enter_context(
            watching.around(runner, contexts, pipeline=what, jobs=given.jobs)
        )
        stack.enter_context(contexts[0])
        stack.enter_context(machine)
        try:
            lib = _compile(
                mod,
                machine,
                watching,
                times,
                tell,
                is_c=header is not None,
                cache=kept is None and not given.no_cache,
                kernel_map=kernel_map,
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            raise PassFailure(error, with_traceback=given.traceback) from None
        finally:
            watching.report()
        origins = _origins(kernel_map, lib, recording)
    with times.files.writing():
        _write(lib, given.output)
        if header is not None:
            write_text(lib.c_header(), header)
    if given.emit_map is not None and origins is not None:
        _write_map(origins, given.emit_map)
    _report_numpy(lib, tell)
    if asked.explain_speed:
        print_build_times(times)


def _target(text: str) -> Target:
    from parpass.errors import TargetError
    from parpass.target.target import Target

    try:
        return Target(text).resolved()
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="'--target'") from None


def _passes(machine: Target) -> Pass:
    """Return the passes of builds, for their names."""
    from parpass.relay.backend.lowering.lower_to_tir import LowerToTIR
    from parpass.relay.build_module import network_pipeline
    from parpass.target.build_library import lowering
    from parpass.transform import Sequential

    return Sequential([network_pipeline(), LowerToTIR(machine), lowering(machine)])


def _network(file: Path, model: ModelOptions) -> IRModule:
    from parpass.cli.files.reading import read_module
    from parpass.errors import CodeGenError
    from parpass.ir.module import IRModule
    from parpass.relay.backend.graph_executor_codegen import check_parameter_shapes
    from parpass.relay.expr import Function

    mod = read_module(file, model=model._replace(needs_shapes=True))
    if not isinstance(mod, IRModule) or "main" not in mod:
        raise InputError("expected a Relay program with a function 'main' to build")
    if isinstance(mod["main"], Function):
        try:
            check_parameter_shapes(mod["main"])
        except CodeGenError as error:
            raise InputError(error) from None
    return mod


def _compile(
    mod: IRModule,
    machine: Target,
    watching: Watching,
    times: BuildTimes,
    tell: Tell,
    *,
    is_c: bool,
    cache: bool,
    kernel_map: KernelMap | None,
) -> GraphExecutorFactoryModule:
    """Return the library, whose pipelines are run one after the other."""
    from parpass.relay.backend.lowering import left_to_numpy
    from parpass.relay.build_module import network_runs
    from parpass.target.code_gen import long_kernels
    from parpass.transform import PassContext

    executor = "aot" if is_c else "graph"
    runs: Generator[PipelineRun, Any, GraphExecutorFactoryModule]
    runs = network_runs(
        mod, machine, executor=executor, cache=cache, kernel_map=kernel_map
    )
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
        times.left_to_numpy |= left_to_numpy(made)
        _report_if_slow(times.reports[-1], tell)


def _report_if_slow(report: RunReport, tell: Tell) -> None:
    from parpass.report.figures import time_text

    if report.seconds > _SLOW_SECONDS:
        longest = report.largest_function
        seconds = report.largest_function_seconds
        which = f"; slowest '{longest}', {time_text(seconds)}" if longest else ""
        tell(f"... in {time_text(report.seconds)}{which}")


def _report_numpy(lib: GraphExecutorFactoryModule, tell: Tell) -> None:
    if lib.numpy_functions:
        names = ", ".join(lib.numpy_functions)
        tell(
            "Note: no lowering rule applies to these functions, so numpy computes "
            f"them: {names}"
        )


def _write(lib: GraphExecutorFactoryModule, output: str) -> None:
    try:
        lib.export_library(output)
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None


def _new_map(*wanted: str | None) -> KernelMap | None:
    """Return a map to be filled in, if a file is wanted that shows it."""
    if not any(wanted):
        return None
    from parpass.relay.backend.kernel_map import KernelMap

    return KernelMap()


def _origins(
    kernel_map: KernelMap | None,
    lib: GraphExecutorFactoryModule,
    recording: Recording | None,
) -> dict[str, Any] | None:
    """Return the map of a build as JSON has it, and add it to the page, if any.

    None if none is wanted, or if it cannot be made, which is a warning.
    """
    if kernel_map is None:
        return None
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
    """Write the map; the library stands where that fails, which is a warning."""
    from parpass.cli.files.writing import write_text

    try:
        write_text(f"{json.dumps(origins, indent=1)}\n", path)
    except InputError as error:
        click.echo(f"Warning: no map: {error.message}", err=True)
