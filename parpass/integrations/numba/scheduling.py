"""Workers, and a schedule that gives functions to them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from parpass.integrations.numba.units import CallGraph, Unit, names_of


@dataclass(eq=False)
class Worker:
    """A process that compiles functions, one after another.

    Attributes:
        process: The process.
        connection: To it go numbers of functions; from it come results.
        names: What the functions name that it has compiled. What two functions have in
            common, such as `argsort`, a process compiles once.
        unit: What it compiles now.
    """

    process: BaseProcess
    connection: Connection
    names: set[str] = field(default_factory=set[str])
    unit: Unit | None = None


class Schedule:
    """Gives functions out: callees first, by what a worker knows, the longest first.

    Args:
        units: What is to be compiled.
        graph: The calls among them.
    """

    def __init__(self, units: Sequence[Unit], graph: CallGraph) -> None:
        self._waiting = list(units)
        self._unfinished = set(units)
        self._callees = {one: set(graph.callees(one)) & set(units) for one in units}
        called = [callee for callees in self._callees.values() for callee in callees]
        functions = {one: graph.functions(one) for one in units}
        self._names = {
            one: set[str]().union(*map(names_of, functions[one])) for one in units
        }
        self._size = {
            one: sum(len(each.__code__.co_code) for each in functions[one])
            for one in units
        }
        self._is_called = {one: one in called for one in units}

    def take(self, worker: Worker, workers: Sequence[Worker]) -> Unit | None:
        """Return what a worker is to compile next; None if it has to wait.

        Args:
            worker: It.
            workers: All workers.
        """
        ready = [
            one for one in self._waiting if not self._callees[one] & self._unfinished
        ]
        if not ready:
            return None
        elsewhere = set[str]().union(
            *(one.names for one in workers if one is not worker)
        )

        def rank(unit: Unit) -> tuple[bool, int, int, int]:
            names = self._names[unit]
            return (
                not self._is_called[unit],
                len((names - worker.names) & elsewhere),
                -len(names & worker.names),
                -self._size[unit],
            )

        unit = min(ready, key=rank)
        self._waiting.remove(unit)
        worker.names |= self._names[unit]
        return unit

    def finish(self, unit: Unit) -> None:
        """Take note that a function is in the cache."""
        self._unfinished.discard(unit)


def compile_units(
    units: Sequence[Unit],
    graph: CallGraph,
    processes: int,
    interrupted_by: Any,
) -> Mapping[str, bool] | None:
    """Compile functions in forks of this process.

    Args:
        units: The functions.
        graph: The calls among them.
        processes: How many forks.
        interrupted_by: What becomes readable when all is to end.

    Returns:
        Whether each was compiled, and not just loaded, by name; None if one was not
        compiled, or a worker died.

    Raises:
        KeyboardInterrupt: All is to end.
    """
    gc.freeze()  # so that collections of forks leave pages shared
    schedule, compiled = Schedule(units, graph), dict[str, bool]()
    workers = _start(processes, units, graph)
    idle = list(workers)
    while len(compiled) < len(units):
        for worker in [*idle]:
            worker.unit = schedule.take(worker, workers)
            if worker.unit is not None:
                idle.remove(worker)
                worker.connection.send(units.index(worker.unit))
        running = {one.connection: one for one in workers if one.unit is not None}
        if not running:
            return None
        for ready in wait([*running, interrupted_by]):
            if ready is interrupted_by:
                raise KeyboardInterrupt
            worker = running[cast("Connection", ready)]
            try:
                result: bool | None = worker.connection.recv()
            except (EOFError, OSError):
                return None
            if result is None or worker.unit is None:
                return None
            compiled[worker.unit.name] = result
            schedule.finish(worker.unit)
            worker.unit = None
            idle.append(worker)
    for worker in reversed(workers):  # a later one holds the pipes of earlier ones
        worker.connection.close()
        worker.process.join()
    return compiled


def _start(processes: int, units: Sequence[Unit], graph: CallGraph) -> list[Worker]:
    context = multiprocessing.get_context("fork")
    workers: list[Worker] = []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        with warnings.catch_warnings():
            # Of threads: those of a BLAS, which has its own handlers for forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = context.Process(
                target=_serve, args=(theirs, ours, units, graph), daemon=True
            )
            process.start()
        theirs.close()
        workers.append(Worker(process, ours))
    return workers


def _serve(
    connection: Connection,
    other_end: Connection,
    units: Sequence[Unit],
    graph: CallGraph,
) -> None:
    other_end.close()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    while True:
        try:
            number: int = connection.recv()
        except EOFError:
            return
        unit = units[number]
        connection.send(compile_unit(unit, units, graph.callees(unit)))


def compile_unit(
    unit: Unit, units: Sequence[Unit], callees: Sequence[Unit]
) -> bool | None:
    """Return whether a function was compiled, not loaded; None if it could not be.

    What a caller made a function compile that its signatures do not have is not in the
    cache afterwards, for the import would have converted the arguments.
    """
    try:
        unit.settle(callees, is_own=True)
    except Exception:  # noqa: BLE001 -- what goes wrong is told by the import
        return None
    if not all(one.is_untouched for one in units if one.is_explicit):
        unit.forget()
        return None
    return bool(unit.dispatcher.stats.cache_misses)
