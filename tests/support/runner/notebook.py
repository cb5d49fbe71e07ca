"""What a process is like that runs the cells of a notebook."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator


@contextlib.contextmanager
def prompt() -> Generator[None]:
    """Have this be an interactive process meanwhile, as IPython has it."""
    sys.ps1 = "In : "
    try:
        yield
    finally:
        del sys.ps1
