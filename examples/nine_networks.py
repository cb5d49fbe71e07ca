"""Optimise nine real networks as one module: serially, then on every core.

The networks are those that the onnx package ships. The script shows what the pipeline
does to each of them, what each pass costs, that the parallel run gives the serial
run's module, and that optimised networks still compute what ONNX's own reference
evaluator computes. It ends with exit code 1 if any of that does not hold.

    python examples/nine_networks.py
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from time import perf_counter

import numpy as np
from real_networks import example_input, load, network_paths, reference_output
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import parpass
from parpass import relay
from parpass.instrument import PassProfile, PassTimingInstrument

PIPELINE = parpass.Sequential(
    [
        relay.transform.InferType(),
        relay.transform.SimplifyInference(),
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.DeadCodeElimination(),
        relay.transform.InferType(),
    ]
)
CHECKED = ("squeezenet", "shufflenet", "resnet50")
TOLERANCE = 1e-4  # of the largest element; both sides compute in float32
ROUNDS = 5


@dataclass(frozen=True)
class Run:
    """One run of the pipeline: its result, and what it took."""

    module: parpass.IRModule
    seconds: float
    profiles: tuple[PassProfile, ...]


@dataclass(frozen=True)
class Deviation:
    """How far a network's output is from the reference, relative to its largest."""

    network: str
    shape: tuple[int, ...]
    largest: float
    difference: float

    @property
    def is_small(self) -> bool:
        """Whether float arithmetic explains it; NaN is never small."""
        return self.difference <= TOLERANCE * self.largest


def main() -> int:
    """Run everything and return the exit code."""
    console = Console()
    console.print(machine())
    with progress_on(console) as progress:
        names = progress.track(network_paths(), description="load networks")
        models = {name: load(name) for name in names}
        mod, _ = relay.frontend.from_onnx(models, freeze_params=True)
        alone = dict(each_alone(mod, progress))
        serial, parallel, first_parallel = race(mod, progress)
        images = {name: example_input(models[name]) for name in CHECKED}
        deviations = list(compare(parallel.module, images, progress))
    is_equal = parpass.structural_equal(serial.module, parallel.module)
    console.print(network_table(mod, parallel.module, alone))
    console.print(pass_table(serial, parallel))
    console.print(deviation_table(deviations))
    console.print(
        f"the first parallel run, which starts the workers: {first_parallel:.2f} s\n"
        f"the best of {ROUNDS}: {serial.seconds:.3f} s serial, "
        f"{parallel.seconds:.3f} s parallel, "
        f"speed-up {serial.seconds / parallel.seconds:.2f} x\n"
        f"the limit, since no function is split: {limit(alone):.2f} x\n"
        f"serial and parallel result structurally equal: {yes_or_no(is_equal)}"
    )
    return 0 if is_equal and all(one.is_small for one in deviations) else 1


def each_alone(
    mod: parpass.IRModule, progress: Progress
) -> Iterator[tuple[str, float]]:
    """Yield the serial time of each network alone, in seconds, by its name."""
    functions = mod.functions_by_name.items()
    for name, function in progress.track(functions, description="run each alone"):
        one = parpass.IRModule({name: function})
        yield name, min(timed(PIPELINE, one).seconds for _ in range(ROUNDS))


def limit(alone: Mapping[str, float]) -> float:
    """Return the speed-up with which everything ends together with the largest."""
    return min(core_count(), sum(alone.values()) / max(alone.values()))


def race(mod: parpass.IRModule, progress: Progress) -> tuple[Run, Run, float]:
    """Return the best serial and parallel run, and the time of the first parallel one.

    The runs take turns, so that whatever else the machine does hits both alike.
    """
    step = progress.add_task("run the pipeline", total=2 * ROUNDS + 1)
    serial: list[Run] = []
    parallel: list[Run] = []
    with parpass.open_runner() as runner:
        on_every_core = partial(runner.run_sync, pipeline=PIPELINE)
        first = timed(on_every_core, mod)
        progress.advance(step)
        for _ in range(ROUNDS):
            serial.append(timed(PIPELINE, mod))
            progress.advance(step)
            parallel.append(timed(on_every_core, mod))
            progress.advance(step)
    best = [min(runs, key=lambda run: run.seconds) for runs in (serial, parallel)]
    return best[0], best[1], first.seconds


def timed(
    run: Callable[[parpass.IRModule], parpass.IRModule], mod: parpass.IRModule
) -> Run:
    """Run the pipeline under its context and take the time."""
    timing = PassTimingInstrument()
    with parpass.PassContext(opt_level=3, instruments=[timing]):
        began = perf_counter()
        module = run(mod)
        seconds = perf_counter() - began
    return Run(module, seconds, timing.profiles)


def compare(
    mod: parpass.IRModule, images: dict[str, dict[str, np.ndarray]], progress: Progress
) -> Iterator[Deviation]:
    """Yield the deviation of each optimised network from ONNX's reference evaluator.

    The evaluator works in other processes while the interpreter works in this one.
    """
    step = progress.add_task("compare with ONNX's evaluator", total=len(images))
    executor = relay.create_executor("debug", mod=mod)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        references = [processes.submit(reference_output, name) for name in images]
        for (name, image), reference in zip(images.items(), references, strict=True):
            run = executor.evaluate(mod.get_global_var(name))
            output = run(*image.values()).numpy()
            expected = reference.result()
            difference = float(np.abs(output - expected).max())
            yield Deviation(name, output.shape, float(expected.max()), difference)
            progress.advance(step)


def core_count() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> str:
    """Return what this runs on, in one line."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("onnx", "numpy"))
    return (
        f"parpass {parpass.__version__} on Python {platform.python_version()}, "
        f"{packages}; {platform.system()} {platform.machine()}, {core_count()} cores"
    )


def progress_on(console: Console) -> Progress:
    """Return progress bars for the steps."""
    bars = (TextColumn("{task.description:<30}"), BarColumn(), MofNCompleteColumn())
    return Progress(*bars, console=console)


def network_table(
    before: parpass.IRModule, after: parpass.IRModule, alone: Mapping[str, float]
) -> Table:
    """Return the nodes of each network, before and after, and its serial time."""
    count = relay.analysis.node_count
    rows = [
        (name, count(function), count(after[name]), alone[name])
        for name, function in before.functions_by_name.items()
    ]
    rows.append(("all", count(before), count(after), sum(alone.values())))
    cells = (
        (name, f"{old:,}", f"{new:,}", f"{new / old:.0%}", f"{1e3 * seconds:.1f}")
        for name, old, new, seconds in rows
    )
    heads = ("network", "nodes before", "nodes after", "", "alone, ms")
    return table("Each network", heads, cells)


def pass_table(serial: Run, parallel: Run) -> Table:
    """Return the time of each pass, those that passes run themselves indented."""
    pairs = zip(lines(serial.profiles), lines(parallel.profiles), strict=True)
    cells = (
        (name, f"{1e3 * ours.seconds:.1f}", f"{1e3 * theirs.seconds:.1f}")
        for (name, ours), (_, theirs) in pairs
    )
    heads = ("pass", "serial, ms", "parallel, ms")
    return table("Time of each pass, in the best run", heads, cells)


def lines(
    profiles: Iterable[PassProfile], indent: str = ""
) -> Iterator[tuple[str, PassProfile]]:
    """Yield the profiles with the indented names of their passes."""
    for profile in profiles:
        yield indent + profile.name, profile
        yield from lines(profile.children, indent + "  ")


def deviation_table(deviations: Iterable[Deviation]) -> Table:
    """Return how far the optimised networks are from the reference."""
    cells = (
        (
            one.network,
            f"{one.largest:.4f}",
            f"{one.difference:.1e}",
            f"{one.difference / one.largest:.1e}",
            yes_or_no(one.is_small),
        )
        for one in deviations
    )
    heads = ("network", "largest output", "largest difference", "relative", "ok")
    title = f"Optimised networks against ONNX's evaluator, tolerance {TOLERANCE:.0e}"
    return table(title, heads, cells)


def table(title: str, heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    """Return a table, its first column aligned to the left."""
    made = Table(title=title, title_justify="left")
    for at, head in enumerate(heads):
        made.add_column(head, justify="right" if at else "left")
    for row in rows:
        made.add_row(*row)
    return made


def yes_or_no(is_true: bool) -> str:
    """Return a truth value as a word that stands out if it is bad."""
    return "yes" if is_true else "[bold red]NO[/]"


if __name__ == "__main__":
    sys.exit(main())
