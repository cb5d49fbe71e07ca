"""Transpilation of many circuits by one pass manager of Qiskit, on every core.

The circuits are the functions of a module, and the pass manager is a function pass.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from qiskit import QuantumCircuit
from qiskit.transpiler import PassManager

from parpass import run_pipeline, run_pipeline_sync
from parpass.integrations.qiskit.callbacks import Call, Callback, Recorder, call_back
from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassContext,
    PassInfo,
    register_adapter,
)


@dataclass(frozen=True)
class Circuit:
    """A circuit as the function of a module.

    Attributes:
        circuit: The circuit; a pass that changes it returns a new `Circuit`.
        calls: The arguments of the pass manager's callbacks, as bytes.
    """

    circuit: QuantumCircuit
    calls: tuple[Call, ...] = ()

    def __str__(self) -> str:
        return str(self.circuit.draw("text"))


@dataclass(frozen=True)
class Circuits:
    """A module: circuits by name, in the order in which passes visit them."""

    functions: Mapping[str, Circuit]

    def __str__(self) -> str:
        return "\n".join(f"{name}:\n{one}" for name, one in self.functions.items())


class CircuitsAdapter(ModuleAdapter):
    """The adapter of circuits.

    They are pickled between processes. Qiskit's own file format, qpy, would take 6 us a
    gate instead of 12, where a pass manager takes 1,500; but a gate of a user's class
    is read back as a plain one, and a layout as one that is not equal.
    """

    module_type = Circuits
    function_type = Circuit
    mutability = None  # no pass changes a circuit that it is given

    def size(self, function: Circuit, limit: int) -> int:
        """Return how many operations a circuit has, one for itself counted."""
        return min(1 + len(function.circuit.data), limit)


register_adapter(Circuits, CircuitsAdapter(), passes_in=["parpass.integrations.qiskit"])


class PassManagerPass(FunctionPass):
    """Runs a pass manager on each circuit of a module.

    Results are the same in any process and order if the pass manager draws no random
    numbers: pass `seed_transpiler` when you create it.

    Args:
        pass_manager: The pass manager. Runs use a copy, so its property set stays
            empty.
        name: The name of the pass in errors and reports.
        keeps_calls: Whether to keep the callback's calls with each circuit.
    """

    def __init__(
        self,
        pass_manager: PassManager,
        name: str = "PassManager",
        *,
        keeps_calls: bool = False,
    ) -> None:
        self.pass_info = PassInfo(0, name)
        self.pass_manager = pass_manager
        self.keeps_calls = keeps_calls

    def transform_function(
        self, func: Circuit, mod: Circuits, ctx: PassContext
    ) -> Circuit:
        """Return the circuit after the pass manager."""
        del mod, ctx
        own = copy.copy(self.pass_manager)  # which a run writes to
        if not self.keeps_calls:
            return replace(func, circuit=own.run(func.circuit))
        recorder = Recorder(own)
        made = own.run(func.circuit, callback=recorder)
        return Circuit(made, (*func.calls, *recorder.calls))


Given = TypeVar("Given", list[QuantumCircuit], dict[str, QuantumCircuit])


async def transpile_circuits(
    circuits: Given,
    pass_manager: PassManager,
    *,
    callback: Callback | None = None,
    **options: Any,
) -> Given:
    """Run a pass manager on circuits, on every core; under trio or asyncio.

    Args:
        circuits: A list or a dict of circuits. They are not changed.
        pass_manager: For example, from
            `generate_preset_pass_manager(..., seed_transpiler=1)`.
        callback: Called in this process when everything is done, with the arguments
            that Qiskit passes, for one circuit after the other. It requires pickling
            graphs.
        options: See `parpass.run_pipeline`: `workers`, `function_timeout`,
            `memory_limit`, or `on_failure="skip"`. The last leaves a circuit unchanged,
            with a warning, if the pass manager fails, hangs or crashes on it.

    Returns:
        A list or a dict, like the argument, of the resulting circuits.

    Raises:
        Exception: The exception of a pass, with a note that names the circuit.
        WorkerDiedError: A circuit crashed its process. Other errors are those of
            `run_pipeline`.
    """
    work = _Work(circuits, pass_manager, callback)
    return work.result(await run_pipeline(work.module, work.pipeline, **options))


def transpile_circuits_sync(
    circuits: Given,
    pass_manager: PassManager,
    *,
    callback: Callback | None = None,
    **options: Any,
) -> Given:
    """Run a pass manager on circuits, on every core, and wait for it.

    See `transpile_circuits`.
    """
    work = _Work(circuits, pass_manager, callback)
    return work.result(run_pipeline_sync(work.module, work.pipeline, **options))


class _Work:
    """The circuits of a call as a module, and the module as circuits."""

    def __init__(
        self,
        circuits: list[QuantumCircuit] | dict[str, QuantumCircuit],
        pass_manager: PassManager,
        callback: Callback | None,
    ) -> None:
        self._is_named = isinstance(circuits, dict)
        self._pass_manager = pass_manager
        self._callback = callback
        named = circuits if isinstance(circuits, dict) else _named(circuits)
        self.module = Circuits({name: Circuit(one) for name, one in named.items()})
        self.pipeline = PassManagerPass(pass_manager, keeps_calls=callback is not None)

    def result(self, made: Circuits) -> Any:
        """Return the circuits as they were given, after all callbacks."""
        if self._callback is not None:
            for one in made.functions.values():
                call_back(self._callback, self._pass_manager, one.calls)
        circuits = {name: one.circuit for name, one in made.functions.items()}
        return circuits if self._is_named else [*circuits.values()]


def _named(circuits: list[QuantumCircuit]) -> dict[str, QuantumCircuit]:
    """Return circuits by their names, with their numbers where some are equal."""
    names = [one.name for one in circuits]
    if len({*names}) < len(names):
        names = [f"{name}[{at}]" for at, name in enumerate(names)]
    return dict(zip(names, circuits, strict=True))
