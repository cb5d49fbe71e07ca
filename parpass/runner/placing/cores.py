"""How many cores there are for a run."""

from __future__ import annotations


def usable_cores() -> int:
    """Return how many processes can run at once here.

    That is the number of cores, or what the affinity mask of this process, the quota of
    its container, or `LOKY_MAX_CPU_COUNT` leave of them.

    Raises:
        RuntimeError: The program is at its end, and loky was not loaded before.
    """
    import loky  # who runs nothing need not wait for it

    return loky.cpu_count()
