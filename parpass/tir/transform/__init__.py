"""The passes for loop programs, under TVM's names, and what makes passes.

They are loaded when one of them is first asked for here. A worker asks for none: what
it is sent names the file that a pass is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.tir.transform.loop_passes import *  # noqa: F403 -- found by __getattr__

__getattr__, __dir__ = attach_lazy(
    __name__, {}, reexport_from="parpass.tir.transform.loop_passes"
)
