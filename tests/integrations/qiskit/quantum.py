"""Circuits, and passes of Qiskit's kind that go wrong; workers import it."""

from __future__ import annotations

import threading
from typing import Any

from qiskit import QuantumCircuit, generate_preset_pass_manager
from qiskit.circuit import Gate
from qiskit.dagcircuit import DAGCircuit
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.transpiler import PassManager, TransformationPass

from tests.support.toy.ending import end


class Twirl(Gate):
    """A gate of a class of one's own."""

    def __init__(self) -> None:
        super().__init__("twirl", 1, [])

    def _define(self) -> None:
        self.definition = QuantumCircuit(1)
        self.definition.h(0)


class EndOn(TransformationPass):
    """Ends its process on circuits of a name; leaves what cannot be pickled behind."""

    def __init__(self, how: str, name: str) -> None:
        super().__init__()
        self.how = how
        self.of = name

    def run(self, dag: DAGCircuit) -> DAGCircuit:
        self.property_set["lock"] = threading.Lock()
        self.property_set["seen"] = dag.size()
        if dag.name == self.of:
            end(self.how)
        return dag


def circuits(count: int) -> list[QuantumCircuit]:
    """Return circuits of some gates, of equal names but for the first."""
    made: list[QuantumCircuit] = []
    for number in range(count):
        one = QuantumCircuit(4, 4, name="first" if number == 0 else "other")
        for qubit in range(3):
            one.rx(0.1 * (number + qubit), qubit)
            one.cx(qubit, (qubit + 2) % 4)
        one.append(Twirl(), [3])
        one.measure(range(4), range(4))
        made.append(one)
    return made


def for_a_line(level: int = 1) -> PassManager:
    """Return what fits circuits to a machine whose qubits are in a line."""
    line: Any = [[n, n + 1] for n in range(4)] + [[n + 1, n] for n in range(4)]
    backend = GenericBackendV2(5, coupling_map=line, seed=1)
    return generate_preset_pass_manager(level, backend=backend, seed_transpiler=3)
