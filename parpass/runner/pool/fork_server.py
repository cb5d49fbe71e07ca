"""Python's fork server, from which workers are forked with their modules imported.

A process has one fork server. It is a separate interpreter with a single thread, so
that no child inherits a lock that another thread holds. It ends with the process that
started it, and the workers end with it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence

from parpass.runner.cores import supports_workers
from parpass.runner.worker.frozen import frozen_program
from parpass.runner.worker.main import JOBS_MODULE

_PROCESS = "parpass.runner.pool.forked_process"


def has_fork_server() -> bool:
    """Return whether this process can have a fork server: one that is frozen cannot."""
    known = multiprocessing.get_all_start_methods()
    is_plain = supports_workers() and frozen_program() is None
    return is_plain and "forkserver" in known


def preload_fork_server(modules: Sequence[str]) -> None:
    """Start the fork server, if it does not run yet; it imports the modules.

    Its environment, and that of its children, is the current one of this process.
    Modules that do not exist are ignored.
    """
    from multiprocessing import forkserver, resource_tracker  # not on all systems

    forkserver.set_forkserver_preload([_PROCESS, JOBS_MODULE, *modules])
    resource_tracker.ensure_running()  # it unblocks signals when it starts
    # Ctrl-C reaches all processes of a terminal; the server ignores it only later.
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
