"""Many circuits through one pass manager, from synchronous code and from async."""

from __future__ import annotations

from typing import Any, TypeVar

from qiskit import QuantumCircuit
from qiskit.transpiler import PassManager

from parpass.adapters.qiskit.callbacks import Callback, call_back
from parpass.adapters.qiskit.circuits import Circuit, Circuits
from parpass.adapters.qiskit.pass_manager import PassManagerPass
from parpass.runner import run_pipeline, run_pipeline_sync

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
        circuits: A list or a dict of them. They stay as they are.
        pass_manager: Say, from `generate_preset_pass_manager(..., seed_transpiler=1)`.
        callback: Called here, when all is done, with what Qiskit calls one with, for
            one circuit after the other. It costs the pickling of graphs.
        options: See `parpass.run_pipeline`: `workers`, `function_timeout`,
            `memory_limit`, `on_failure="skip"` to leave a circuit as it is on which the
            pass manager fails, hangs or crashes, with a warning, and go on.

    Returns:
        A list or a dict, as was given, of the circuits that the pass manager made.

    Raises:
        Exception: What a pass raised, with a note that names the circuit.
        WorkerDiedError: A circuit crashed its process. Others as `run_pipeline`.
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
    """Circuits on their way into a module, and out of it again."""

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
