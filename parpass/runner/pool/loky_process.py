"""A worker's process that is an interpreter of its own, started by loky anywhere."""

from __future__ import annotations

from loky.backend.process import LokyProcess

from parpass.runner.worker.serving import ServingProcess


class OwnInterpreter(ServingProcess, LokyProcess):
    """A process of loky's; see `ServingProcess`."""
