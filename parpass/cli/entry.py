"""Where the command begins as a program of its own."""

from __future__ import annotations

import sys

from parpass.cli import minding
from parpass.cli.main import main
from parpass.cli.work.early_workers import load_ahead

# In which passes run in this process that may crash it; who replays a crash wants it.
_MINDED = ("opt", "bisect")


def run() -> None:
    """Run the command line; a crash in a pass is told by a process that outlives it."""
    if sys.argv[1:2] and sys.argv[1] in _MINDED and minding.can_mind():
        with minding.minded(shows_all="--traceback" in sys.argv):
            _run()
    _run()


def _run() -> None:
    load_ahead(sys.argv[1:])
    main(prog_name="parpass")
