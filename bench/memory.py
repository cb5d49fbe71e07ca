"""How much memory processes take: proportional set size, and what files share."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

_SHARED_MEMORY = "/dev/shm"
_SAMPLING = 0.03  # seconds between two looks


def resident_bytes() -> int:
    """Return what this process takes, after giving back what is free."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return _status_bytes("VmRSS")


def peak_resident_bytes(run: Callable[[], object]) -> int:
    """Return the most that this process took while something ran."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    made = run()
    peak = _status_bytes("VmHWM")
    del made
    return peak


def peak_growth_of_all(run: Callable[[], object]) -> int:
    """Return by how much all processes grew at most while something ran, in bytes.

    Counted are this process and all below it by proportional set size, in which a page
    that several share counts once, and the files in shared memory: with those pages of
    them that a process has mapped counted twice, so that nothing is overlooked.
    """
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    sampler = spawn.Process(target=_sample, args=(there, os.getpid()))
    sampler.start()
    first: int = here.recv()
    made = run()
    here.send(None)
    peak: int = here.recv()
    sampler.join()
    del made
    return peak - first


def tree_bytes(root: int) -> int:
    """Return what a process and all below it take, a page that several share once."""
    return sum(_pss_bytes(pid) for pid in _tree(root))


def _sample(connection: Connection[int, None], root: int) -> None:
    """Look at the processes again and again until told to stop; tell the peak."""
    peak = _all_bytes(root)
    connection.send(peak)
    while not connection.poll(_SAMPLING):
        peak = max(peak, _all_bytes(root))
    connection.send(peak)


def _all_bytes(root: int) -> int:
    shared = os.statvfs(_SHARED_MEMORY)
    in_files = (shared.f_blocks - shared.f_bfree) * shared.f_frsize
    own = os.getpid()
    return in_files + sum(_pss_bytes(pid) for pid in _tree(root) if pid != own)


def _tree(root: int) -> Iterator[int]:
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it ended
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        below.setdefault(parent, []).append(int(folder.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += below.get(pid, [])


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def _status_bytes(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) << 10
    raise OSError(f"this system's /proc/self/status has no {key}")
