"""Compile nine real networks to machine code: serially, then on every core.

The networks are those that the onnx package ships. Each becomes a library, which is
loaded and run, and what it gives is compared with what ONNX's own reference evaluator
gives. The table tells how long each build took by one process and by all, and how long
a run takes. It ends with exit code 1 if a result differs, or if a library of all
processes is not, to the byte, that of one.

    python examples/nine_networks.py
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from real_networks import Array, example_input, load, network_paths, reference_output
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import parpass as tvm
from parpass import relay
from parpass.runner import Runner
from parpass.spi import usable_cores

TOLERANCE = 1e-4  # of the largest element; both sides compute in float32
WARMING = "squeezenet"  # built before the others: workers start, modules are loaded
RUNS = 5


@dataclass(frozen=True)
class Built:
    """A network that was built twice, and run.

    Attributes:
        name: Which one.
        serial: Seconds that the build took one process.
        parallel: Seconds that it took all of them.
        is_same: Whether both gave the same library.
        kernels: How many functions of machine code it has.
        run_seconds: The median of a run's time, on one thread.
        output: What it computes.
    """

    name: str
    serial: float
    parallel: float
    is_same: bool
    kernels: int
    run_seconds: float
    output: Array


def main() -> int:
    """Run everything and return the exit code."""
    console = Console()
    console.print(machine())
    names = list(network_paths())
    with progress_on(console) as progress:
        limit = measured_limit(progress)
        with tvm.open_runner() as runner, tempfile.TemporaryDirectory() as folder:
            began = perf_counter()
            built_by(runner, *imported(WARMING))
            first = perf_counter() - began
            steps = progress.track(names, description="build and run")
            built = [build_and_run(name, runner, Path(folder)) for name in steps]
        deviations = list(compare(built, progress))
    serial, parallel = sum(b.serial for b in built), sum(b.parallel for b in built)
    console.print(network_table(built, deviations))
    console.print(
        f"the builds: {serial:.1f} s by one process, {parallel:.1f} s by "
        f"{usable_cores()}, which is {serial / parallel:.2f} x as fast\n"
        f"as many processes that share nothing, measured before: {limit:.2f} x\n"
        f"the first build of all, which starts the processes: {first:.1f} s\n"
        f"libraries equal to the byte: {yes_or_no(all(one.is_same for one in built))}"
    )
    is_right = all(far <= TOLERANCE for far in deviations)  # NaN is not
    return 0 if is_right and all(one.is_same for one in built) else 1


def imported(name: str) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return a network and its weights."""
    return relay.frontend.from_onnx(load(name))


def built_by(runner: Runner | None, mod: tvm.IRModule, params: dict[str, Any]) -> Any:
    """Return the library of a network, by a runner's processes or by this one alone."""
    with tvm.PassContext(opt_level=3):
        return relay.build(
            mod, "llvm", params=params, workers=0, runner=runner, cache=False
        )


def build_and_run(name: str, runner: Runner, folder: Path) -> Built:
    """Build a network both ways, load its library from a file, and run that."""
    mod, params = imported(name)
    began = perf_counter()
    by_one = built_by(None, mod, params)
    serial = perf_counter() - began
    began = perf_counter()
    by_all = built_by(runner, mod, params)
    parallel = perf_counter() - began
    path = folder / f"{name}.so"
    by_all.export_library(path)
    times, output = run(path, example_input(load(name)))
    path.unlink()
    one, other = by_one.module.image, by_all.module.image
    is_same = (one.code, one.manifest) == (other.code, other.manifest)
    kernels = len(one.manifest.functions)
    return Built(name, serial, parallel, is_same, kernels, median(times), output)


def run(path: Path, image: dict[str, Array]) -> tuple[list[float], Array]:
    """Run a library some times; return the times, and what it computes."""
    library = tvm.runtime.load_module(path)
    executor = tvm.runtime.graph_executor.GraphModule(library["default"](tvm.cpu()))
    for name, array in image.items():
        executor.set_input(name, array)
    executor.run()  # the first run reads the weights
    times: list[float] = []
    for _ in range(RUNS):
        began = perf_counter()
        executor.run()
        times.append(perf_counter() - began)
    return times, executor.get_output(0).numpy().copy()


def compare(built: Iterable[Built], progress: Progress) -> Iterator[float]:
    """Yield how far each output is from ONNX's, relative to the largest element."""
    with ProcessPoolExecutor(usable_cores(), get_context("spawn")) as processes:
        wanted = [(one, processes.submit(reference_output, one.name)) for one in built]
        description = "compare with ONNX's evaluator"
        for one, reference in progress.track(wanted, description=description):
            expected = reference.result()
            difference = float(np.abs(one.output - expected).max())
            yield difference / float(np.abs(expected).max())


def measured_limit(progress: Progress) -> float:
    """Return how much faster all cores are than one, at work of this kind.

    As many processes as there are cores each build one network, by themselves, first
    one alone and then all at the same time.
    """
    count = usable_cores()
    steps = progress.add_task("measure the limit of the cores", total=3)
    with ProcessPoolExecutor(count, get_context("spawn")) as processes:

        def slowest(times: int) -> float:
            jobs = [processes.submit(seconds_to_build, WARMING) for _ in range(times)]
            found = max(job.result() for job in jobs)
            progress.advance(steps)
            return found

        slowest(count)  # each loads what it needs
        return count * slowest(1) / slowest(count)


def seconds_to_build(name: str) -> float:
    """Return how long the build of a network takes one process."""
    mod, params = imported(name)
    began = perf_counter()
    built_by(None, mod, params)
    return perf_counter() - began


def machine() -> str:
    """Return what this runs on, in one line."""
    packages = ("onnx", "numpy", "llvmlite")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"parpass {tvm.__version__} on Python {platform.python_version()}, "
        f"{versions}; {platform.system()} {platform.machine()}, {usable_cores()} cores"
    )


def progress_on(console: Console) -> Progress:
    """Return progress bars for the steps."""
    bars = (TextColumn("{task.description:<30}"), BarColumn(), MofNCompleteColumn())
    return Progress(*bars, console=console)


def network_table(built: Iterable[Built], deviations: Iterable[float]) -> Table:
    """Return a row for each network: what building and running it took."""
    made = Table(title="Seconds of a build, ms of a run", title_justify="left")
    heads = ("network", "kernels", "serial", "parallel", "", "a run", "difference")
    for at, head in enumerate(heads):
        made.add_column(head, justify="right" if at else "left")
    for one, far in zip(built, deviations, strict=True):
        made.add_row(
            *(one.name, str(one.kernels), f"{one.serial:.2f}", f"{one.parallel:.2f}"),
            *(f"{one.serial / one.parallel:.2f} x", f"{1e3 * one.run_seconds:.1f}"),
            f"{far:.1e}" if far <= TOLERANCE else f"[bold red]{far}[/]",
        )
    return made


def yes_or_no(is_true: bool) -> str:
    """Return a truth value as a word that stands out if it is bad."""
    return "yes" if is_true else "[bold red]NO[/]"


if __name__ == "__main__":
    sys.exit(main())
