"""The passes shipped for loop programs, under TVM's names, and what makes passes.

They are loaded when one of them is first asked for here. A worker asks for none: what
it is sent names the file that a pass is in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from parpass.tir.transform.loop_passes import *  # noqa: F403 -- found by __getattr__


def __getattr__(name: str) -> _Any:
    shipped = importlib.import_module("parpass.tir.transform.loop_passes")
    if name == "__all__":
        return shipped.__all__
    if name.startswith("_") or name not in shipped.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(shipped, name)
    return value


def __dir__() -> list[str]:
    shipped = importlib.import_module("parpass.tir.transform.loop_passes")
    return sorted({*globals(), *shipped.__all__})
