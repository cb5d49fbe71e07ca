"""`parpass build`: compile a network to a library of machine code."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import options, watch_options
from parpass.cli.commands.option_syntax import Command
from parpass.cli.output.failure import InputError, PassFailure

if TYPE_CHECKING:
    from parpass.cli.operations.watching import Watching
    from parpass.cli.output.tables import BuildTimes
    from parpass.ir.module import IRModule
    from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
    from parpass.relay.backend.kernel_map import KernelMap
    from parpass.relay.backend.network_library import PipelineRun
    from parpass.runner import RunReport
    from parpass.runner.report.html.page import Recording
    from parpass.target.target import Target
    from parpass.transform import Pass

Tell = Callable[[str], None]

_SLOW_SECONDS = 1.0  # seconds


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
    help="Run the passes of this optimization level and below: -O0 to -O4.",
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
@options.load_plugin
@options.shape
@options.function_cache
@options.lower_caches
@options.writable_caches
@options.verify_cache
@options.running(
    "--no-cache",
    is_flag=True,
    help="Compile all kernels. Without this and --cache those that an earlier build "
    "compiled are taken from disk, and go through no pass. See parpass cache.",
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
@options.writing(
    "--emit-map",
    metavar="PATH",
    type=click.Path(dir_okay=False, writable=True),
    help="Write which lines of the source each kernel comes from, and where in the "
    "library its code is, as JSON; see parpass kernels.",
)
@watch_options.watching
@options.traceback
def build(
    *,
    file: Path,
    level: int,
    config: Sequence[str],
    target: str,
    jobs: int | None,
    shapes: Sequence[tuple[str, Sequence[Any]]],
    cache: str | None,
    cache_from: Sequence[str],
    cache_to: Sequence[str],
    verify_cache: float | None,
    no_cache: bool,
    output: str,
    header: str | None,
    emit_map: str | None,
    watched: Mapping[str, Any],
    traceback: bool,
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
    from parpass.cli.files.writing import check_suffix, write_text
    from parpass.cli.operations.executors import function_cache, opening_runner
    from parpass.cli.operations.pipeline import check_config, make_contexts
    from parpass.cli.operations.watching import Watching, WatchOptions
    from parpass.cli.output.tables import BuildTimes, print_build_times
    from parpass.transform import Sequential

    check_config(config)
    check_suffix(output)
    is_cached = options.is_cached(cache, cache_from, cache_to)
    options.check_cache(verify_cache, is_cached=is_cached)
    if no_cache and is_cached:
        raise click.UsageError("expected one of --cache and --no-cache, got both")
    asked = WatchOptions(**watched)
    kept = function_cache(cache, cache_from, cache_to, verify_cache)
    asked.check({"-o": output, "--header": header, "--emit-map": emit_map})
    kernel_map = _new_map(emit_map, asked.report)
    machine = _target(target)
    loaded = click.get_current_context().meta[options.LOADED]
    # Commands of dumps run passes that a command without a build does not load.
    loaded = (*loaded, "parpass.target.build_library")
    watching = Watching(asked, _passes(machine), loaded)
    contexts = make_contexts(
        asked.repeat or 1, Sequential([]), level, config, watching.instruments, {}
    )
    times = BuildTimes(reports=watching.reports)
    with times.files.reading():
        mod = _network(file, dict(shapes))

    def tell(text: str) -> None:
        if not asked.quiet:
            click.echo(text, err=True)

    with contextlib.ExitStack() as stack:
        runner = stack.enter_context(opening_runner(jobs, None, cache=kept))
        what = f"parpass build -O{level}"
        recording = stack.enter_context(
            watching.around(runner, contexts, pipeline=what, jobs=jobs)
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
                cache=kept is None and not no_cache,
                kernel_map=kernel_map,
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            raise PassFailure(error, with_traceback=traceback) from None
        finally:
            watching.report()
        origins = _origins(kernel_map, lib, recording)
    with times.files.writing():
        _write(lib, output)
        if header is not None:
            write_text(lib.c_header(), header)
    if emit_map is not None and origins is not None:
        _write_map(origins, emit_map)
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
    from parpass.relay.backend.lowering.lower_te import LowerTE
    from parpass.relay.build_module import network_pipeline
    from parpass.target.build_library import lowering
    from parpass.transform import Sequential

    return Sequential([network_pipeline(), LowerTE(machine), lowering(machine)])


def _network(file: Path, shapes: dict[str, Sequence[Any]]) -> IRModule:
    from parpass.cli.files.reading import read_module
    from parpass.ir.module import IRModule

    mod = read_module(file, shapes=shapes)
    if not isinstance(mod, IRModule) or "main" not in mod:
        raise InputError("expected a Relay program with a function 'main' to build")
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
    """Report the time of a long run, and the function that took longest."""
    from parpass.runner.report.figures import time_text

    if report.seconds > _SLOW_SECONDS:
        longest = report.largest_function
        seconds = report.largest_function_seconds
        which = f"; longest '{longest}', {time_text(seconds)}" if longest else ""
        tell(f"... in {time_text(report.seconds)}{which}")


def _report_numpy(lib: GraphExecutorFactoryModule, tell: Tell) -> None:
    if lib.numpy_functions:
        names = ", ".join(lib.numpy_functions)
        tell(f"Note: numpy computes what no rule of lowering is for: {names}")


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
