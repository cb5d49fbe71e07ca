"""A worker's process that is forked off Python's fork server; see `fork_server`."""

from __future__ import annotations

from multiprocessing.context import ForkServerProcess

from parpass.runner.worker.serving import ServingProcess


class ForkedProcess(ServingProcess, ForkServerProcess):
    """A process of the fork server's; see `ServingProcess`."""
