"""A pass manager of Qiskit's as a function pass."""

from __future__ import annotations

import copy
from dataclasses import replace

from qiskit.transpiler import PassManager

from parpass.adapters.qiskit.callbacks import Recorder
from parpass.adapters.qiskit.circuits import Circuit, Circuits
from parpass.transform import FunctionPass, PassContext, PassInfo


class PassManagerPass(FunctionPass):
    """Runs a pass manager on each circuit of a module.

    Results are the same in any process and order if the pass manager draws no numbers
    at random: give `seed_transpiler` to what makes it.

    Args:
        pass_manager: It. What it is run with is a copy, so its property set stays
            empty.
        name: What errors and reports call the pass.
        keeps_calls: Whether what would be called back is kept with each circuit.
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
        """Return what the pass manager makes of a circuit."""
        del mod, ctx
        own = copy.copy(self.pass_manager)  # which a run writes to
        if not self.keeps_calls:
            return replace(func, circuit=own.run(func.circuit))
        recorder = Recorder(own)
        made = own.run(func.circuit, callback=recorder)
        return Circuit(made, (*func.calls, *recorder.calls))
