"""A list of circuits through one of Qiskit's pass managers, on every core.

Makes circuits of random gates, has them transpiled one by one, by Qiskit's own
processes (`num_processes`) and by parpass, and prints times side by side. Each circuit
and its layout is compared with the one that came one by one. Callbacks cost something,
and Qiskit's processes give none, so parpass is timed with and without.

    python examples/transpile_list.py --circuits 24
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from qiskit import QuantumCircuit, generate_preset_pass_manager
from qiskit.circuit.library import quantum_volume
from qiskit.providers.fake_provider import GenericBackendV2

from parpass.integrations.qiskit import transpile_circuits_sync
from parpass.spi import usable_cores

Circuits = Sequence[QuantumCircuit]


class Comparison:
    """Ways to transpile, beside the one that is timed first."""

    def __init__(self) -> None:
        self._first: tuple[float, Circuits] | None = None
        self._called = 0

    def callback(self, **_arguments: object) -> None:
        """Take down that a pass was run."""
        self._called += 1

    def time(self, name: str, transpile: Callable[[], Circuits]) -> None:
        """Print how long it takes, how often passes called back, and what differs.

        Or why it fails, once there is something to compare with.
        """
        self._called = 0
        start = time.perf_counter()
        try:
            made = transpile()
        except Exception as error:
            if self._first is None:
                raise
            print(f"{name:24} fails: {type(error).__name__}: {error}")
            return
        seconds = time.perf_counter() - start
        self._first = self._first or (seconds, made)
        print(
            f"{name:24} {seconds:6.2f} s {self._first[0] / seconds:5.2f} x, "
            f"{self._called:5} callbacks, {self._alike(made)}"
        )

    def _alike(self, made: Circuits) -> str:
        assert self._first is not None
        pairs = enumerate(zip(made, self._first[1], strict=True))
        differ = [at for at, (a, b) in pairs if a != b or a.layout != b.layout]
        return f"DIFFERENT: {differ}" if differ else f"{len(made)} circuits alike"


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
    compared = Comparison()
    callback = compared.callback

    def theirs(processes: int) -> Circuits:
        return manager.run(given, callback=callback, num_processes=processes)

    def ours(**options: Any) -> Circuits:
        return transpile_circuits_sync(given, manager, **options)

    cores = usable_cores()
    os.environ["QISKIT_PARALLEL"] = "TRUE"  # off by default
    compared.time("one by one", lambda: theirs(1))
    compared.time(f"Qiskit, num_processes={cores}", lambda: theirs(cores))
    compared.time("parpass", ours)
    compared.time("parpass, with callbacks", lambda: ours(callback=callback))


if __name__ == "__main__":
    main()
