"""Qiskit's pass managers over many circuits, on every core.

A dict of circuits is a module, and a `PassManager` is a function pass: a circuit goes
to one worker, and comes back with its layout. `transpile_circuits` is all that most
need; `PassManagerPass` goes into pipelines beside passes of one's own.
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
