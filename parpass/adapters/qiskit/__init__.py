"""Qiskit's pass managers over many circuits, on every core.

A dict of circuits is a module, and a `PassManager` is a function pass: a circuit goes
to one worker, and comes back with its layout. `transpile_circuits` is all that most
need; `PassManagerPass` goes into pipelines beside passes of one's own.
"""

from __future__ import annotations

from parpass.adapters.qiskit.circuits import Circuit, Circuits
from parpass.adapters.qiskit.pass_manager import PassManagerPass
from parpass.adapters.qiskit.transpiling import (
    transpile_circuits,
    transpile_circuits_sync,
)

__all__ = [
    "Circuit",
    "Circuits",
    "PassManagerPass",
    "transpile_circuits",
    "transpile_circuits_sync",
]
