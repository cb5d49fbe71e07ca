"""The class of worker processes that loky starts, each a new interpreter.

This module is apart since each of them imports it: it loads next to nothing.
"""

from __future__ import annotations

from loky.backend.process import LokyProcess

from parpass.runner.worker.main import WorkerBaseProcess


class LokyWorkerProcess(WorkerBaseProcess, LokyProcess):
    """A worker process that loky starts, on any system."""

    def close(self) -> None:
        """Release the process, which has ended; its descriptor goes with this object.

        Loky lacks what `close` of multiprocessing calls.
        """
        self.join(0)  # multiprocessing forgets it
        self.kill_tree = None  # it refers to this
