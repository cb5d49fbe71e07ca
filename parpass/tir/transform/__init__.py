"""The passes shipped for loop programs, under TVM's names, and what makes passes.

They are loaded when one of them is first asked for here. A worker asks for none: what
it is sent names the file that a pass is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.tir.transform.loop_passes import *  # noqa: F403 -- found by __getattr__

__getattr__, __dir__ = lazy_names(
    __name__, {}, rest="parpass.tir.transform.loop_passes"
)
