"""How many cores there are for a run."""

from __future__ import annotations

import loky


def usable_cores() -> int:
    """Return how many processes can run at once here.

    That is the number of cores, or what the affinity mask of this process, the quota of
    its container, or `LOKY_MAX_CPU_COUNT` leave of them.
    """
    return loky.cpu_count()
