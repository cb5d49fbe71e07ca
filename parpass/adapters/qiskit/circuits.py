"""Circuits by name, as a module whose functions they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from qiskit import QuantumCircuit

from parpass.adapters.qiskit.callbacks import Call
from parpass.transform import ModuleAdapter, register_adapter


@dataclass(frozen=True)
class Circuit:
    """A circuit as the function of a module.

    Attributes:
        circuit: It; a pass that changes something returns another one.
        calls: What a pass manager would have called back, as bytes.
    """

    circuit: QuantumCircuit
    calls: tuple[Call, ...] = ()

    def __str__(self) -> str:
        return str(self.circuit.draw("text"))


@dataclass(frozen=True)
class Circuits:
    """A module: circuits by name, in the order in which passes go over them."""

    functions: Mapping[str, Circuit]

    def __str__(self) -> str:
        return "\n".join(f"{name}:\n{one}" for name, one in self.functions.items())


class CircuitsAdapter(ModuleAdapter):
    """What parpass asks of circuits.

    They are pickled between processes. Qiskit's own file format, qpy, would take 6 us
    a gate instead of 12, where a pass manager takes 1,500; but a gate of a class of
    one's own comes back from it as a plain one, and a layout as one that is not equal.
    """

    def functions(self, mod: Circuits) -> Mapping[str, Circuit]:
        """Return the circuits."""
        return mod.functions

    def with_functions(self, mod: Circuits, functions: Mapping[str, Any]) -> Circuits:
        """Return these circuits as a module."""
        return replace(mod, functions=functions)

    def is_module(self, value: Any) -> bool:
        """Return whether this is a module of circuits."""
        return isinstance(value, Circuits)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a circuit in its box."""
        return isinstance(value, Circuit)

    def size(self, function: Circuit, limit: int) -> int:
        """Return how many operations a circuit has, one for itself counted."""
        return min(1 + len(function.circuit.data), limit)


register_adapter(Circuits, CircuitsAdapter(), passes_in=["parpass.adapters.qiskit"])
