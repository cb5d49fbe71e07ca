"""How long garbage collection takes, in this process and in workers.

This module is imported by workers, too.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

from parpass import FunctionPass, IRModule, PassContext, PassInfo, relay

_watched: set[str] = set()  # in a worker: it is watched until it ends


def watch_collector(folder: str) -> Callable[[], None]:
    """Have this process write down in a folder how long it collects.

    Returns:
        What ends the watching.
    """
    file = Path(folder, str(os.getpid()))
    began = total = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began, total
        if phase == "start":
            began = time.perf_counter()
        else:
            total += time.perf_counter() - began
            file.write_text(repr(total))

    gc.callbacks.append(note)
    return lambda: gc.callbacks.remove(note)


def collecting_seconds(folder: str) -> dict[int, float]:
    """Return the seconds that each process has collected, by process."""
    files = Path(folder).iterdir()
    return {int(file.name): float(file.read_text()) for file in files}


class WatchCollector(FunctionPass):
    """Has the worker that it runs in watch its collector; changes nothing.

    Args:
        folder: Where it is written down.
    """

    pass_info = PassInfo(0, "WatchCollector")

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Watch, and return the function."""
        if self.folder not in _watched:
            _watched.add(self.folder)
            watch_collector(self.folder)
        return func
