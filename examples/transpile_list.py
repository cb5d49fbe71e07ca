"""A list of circuits through one of Qiskit's pass managers, on every core.

Makes circuits of random gates, has them transpiled one by one, by Qiskit's own
processes and by parpass, and compares circuits, layouts and times.

    python examples/transpile_list.py --circuits 24
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

from qiskit import QuantumCircuit, generate_preset_pass_manager
from qiskit.circuit.library import quantum_volume
from qiskit.providers.fake_provider import GenericBackendV2

from parpass.adapters.qiskit import transpile_circuits_sync

Circuits = list[QuantumCircuit]


def timed(transpile: Callable[[], Circuits], name: str) -> Circuits:
    """Print how long it takes, and how often passes called back."""
    start = time.perf_counter()
    made = transpile()
    seconds = time.perf_counter() - start
    print(f"{name:24} {seconds:6.2f} s, {len(called):5} callbacks")
    called.clear()
    return made


called: list[str] = []


def callback(**arguments: object) -> None:
    """Take down which pass was run."""
    called.append(type(arguments["pass_"]).__name__)


def main() -> None:
    """Read the arguments, transpile, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--circuits", type=int, default=24)
    parser.add_argument("--level", type=int, default=3)
    arguments = parser.parse_args()
    given = [quantum_volume(6 + n % 8, 12, seed=n) for n in range(arguments.circuits)]
    backend = GenericBackendV2(20, seed=1)
    manager = generate_preset_pass_manager(
        arguments.level, backend=backend, seed_transpiler=1
    )

    def theirs(processes: int) -> Circuits:
        return manager.run(given, callback=callback, num_processes=processes)

    os.environ["QISKIT_PARALLEL"] = "TRUE"  # off by default
    expected = timed(lambda: theirs(1), "one by one")
    timed(lambda: theirs(os.cpu_count() or 1), "Qiskit's own processes")
    found = timed(
        lambda: transpile_circuits_sync(given, manager, callback=callback), "parpass"
    )
    alike = found == expected and all(
        one.layout == other.layout for one, other in zip(found, expected, strict=True)
    )
    print("circuits and layouts:", "as one by one" if alike else "DIFFERENT")


if __name__ == "__main__":  # the workers import this file, too
    main()
