"""Workers that are forked off Python's fork server, with what they need loaded by then.

Of the server there is one in a process. It is an interpreter of its own with a single
thread, so that a fork copies no lock that somebody holds; it ends with the process that
has started it, and workers end with it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence

from parpass.runner.placing.cores import system_has_workers
from parpass.runner.worker.serving import JOBS

_PROCESS = "parpass.runner.pool.forked_process"


def has_fork_server() -> bool:
    """Return whether this system has it."""
    known = multiprocessing.get_all_start_methods()
    return system_has_workers() and "forkserver" in known


def load_ahead(modules: Sequence[str]) -> None:
    """Have the server begin to load modules, if it does not run yet.

    Its environment, and so that of all that is forked off it, is that of this process
    as it is now. Modules that are not there are passed over.
    """
    from multiprocessing import forkserver, resource_tracker  # not on all systems

    forkserver.set_forkserver_preload([_PROCESS, JOBS, *modules])
    resource_tracker.ensure_running()  # which unblocks signals when it starts
    # Ctrl-C reaches all processes of a terminal, and this one ignores it later only.
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
