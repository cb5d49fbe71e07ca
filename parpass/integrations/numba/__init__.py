"""Numba's functions, compiled on every core into Numba's own cache.

`warm` compiles what modules compile as they are imported, those functions that have
explicit signatures and `cache=True`, in worker processes; the import then loads them.
`record` keeps the types that the others were called with, so that the next `warm`
compiles them, too. `parpass numba warm` is the same as a command. Install
`parpass[numba]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.numba.cache_notes import record
    from parpass.integrations.numba.warming import WarmError, WarmResult, warm

__all__ = ["WarmError", "WarmResult", "record", "warm"]

_ROOM = "parpass.integrations.numba"

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {
        "WarmError": f"{_ROOM}.warming",
        "WarmResult": f"{_ROOM}.warming",
        "record": f"{_ROOM}.cache_notes",
        "warm": f"{_ROOM}.warming",
    },
)
