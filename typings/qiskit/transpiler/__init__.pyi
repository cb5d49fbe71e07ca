from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from qiskit import QuantumCircuit
from qiskit.passmanager import PropertySet

_Circuits = TypeVar("_Circuits", QuantumCircuit, list[QuantumCircuit])

class TransformationPass:
    property_set: PropertySet
    def __init__(self) -> None: ...

class PassManager:
    def __init__(self, passes: Sequence[object]) -> None: ...
    def run(
        self,
        circuits: _Circuits,
        *,
        callback: Callable[..., object] | None = ...,
        num_processes: int | None = ...,
    ) -> _Circuits: ...
    def to_flow_controller(self) -> Any: ...
