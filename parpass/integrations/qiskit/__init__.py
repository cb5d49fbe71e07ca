"""Qiskit's pass managers over many circuits, on every core.

A dict of circuits is a module, and a `PassManager` is a function pass: each circuit
goes to one worker, and returns with its layout. Usually `transpile_circuits` is all you
need. Use `PassManagerPass` to combine a pass manager with your own passes in a
pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import IR, attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.qiskit.transpile import (
        Circuit,
        Circuits,
        PassManagerPass,
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

_TRANSPILE = "parpass.integrations.qiskit.transpile"

QISKIT = IR("qiskit", _TRANSPILE, requirement="parpass[qiskit]")

__getattr__, __dir__ = attach_lazy(
    "parpass.integrations.qiskit", dict.fromkeys(__all__, _TRANSPILE)
)
