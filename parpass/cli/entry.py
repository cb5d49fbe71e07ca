"""Where the command begins as a program of its own.

Workers load this too, being what the program begins with, and those that are needed
early wait for what comes before them. So it loads next to nothing by itself.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import sys

# The process is the command's own; what it loads, 100,000 objects, stays to its end.
_SELDOM_COLLECTED = 200_000, 5, 100
# In which passes run in this process that may crash it; who replays a crash wants it.
_MINDED = ("opt", "bisect")


def run() -> None:
    """Run the command line; a crash in a pass is told by a process that outlives it.

    At its end Python would look for circles among all objects, classes mostly, to free
    them one by one: a tenth of a second and more, for memory that goes anyway.
    """
    gc.set_threshold(*_SELDOM_COLLECTED)
    atexit.register(gc.freeze)
    with _doubled():
        from parpass.cli.group import main

        main(prog_name="parpass")


def _doubled() -> contextlib.AbstractContextManager[None]:
    from parpass.cli.minding import can_mind, doubled
    from parpass.cli.work.early_workers import load_ahead

    telling = contextlib.nullcontext()
    if sys.argv[1:2] and sys.argv[1] in _MINDED and can_mind():
        telling = doubled(shows_all="--traceback" in sys.argv)
    load_ahead(sys.argv[1:])  # before click, and all else that this process needs
    return telling
