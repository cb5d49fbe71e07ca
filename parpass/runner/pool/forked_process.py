"""The class of worker processes that are forked off Python's fork server.

This module is apart since the fork server, which not all systems have, imports it.
"""

from __future__ import annotations

from multiprocessing.context import ForkServerProcess

from parpass.runner.worker.main import WorkerBaseProcess


class ForkedWorkerProcess(WorkerBaseProcess, ForkServerProcess):
    """A worker process forked off the fork server; see `fork_server`."""
