"""The state that a process inherits when it starts, and cannot be set to later.

A worker that has inherited anything else than a new one would is replaced. All that can
be set is set, stage by stage (`process_state`).
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from parpass.runner.open_files import file_at

_STANDARD_STREAMS = (0, 1, 2)
_PROCESS_GETTERS = (
    *("getresuid", "getresgid", "getgroups"),  # its user
    *("getpgrp",),  # its process group, to which a terminal sends signals
)


def inherited_state() -> tuple[Any, ...]:
    """Return the state that a process started now would inherit, for comparison.

    It consists of the interpreter, the main script, the hash seed, the files of the
    standard streams, the user, the resource limits, the priority and the affinity.
    """
    main = sys.modules.get("__main__")
    getters = (getattr(os, name, None) for name in _PROCESS_GETTERS)
    affinity = getattr(os, "sched_getaffinity", None)
    return (
        sys.executable,
        getattr(main, "__file__", None),
        os.environ.get("PYTHONHASHSEED"),
        *map(file_at, _STANDARD_STREAMS),
        *(getter() for getter in getters if getter is not None),
        *_resource_limits(),
        os.getpriority(os.PRIO_PROCESS, 0),
        None if affinity is None else affinity(0),
    )


def _resource_limits() -> list[tuple[int, int]]:
    import resource  # not on Windows

    return list(map(resource.getrlimit, _limits()))


@functools.cache
def _limits() -> list[int]:
    import resource  # as above

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    # Some have two names.
    return sorted({getattr(resource, name) for name in names})
