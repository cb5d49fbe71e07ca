"""xDSL: its passes on every core. Install `parpass[xdsl]`; see docs/xdsl.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.adapters.xdsl.locality import FUNCTION_LOCAL, function_local
    from parpass.adapters.xdsl.parallel_pipeline import ParallelPipeline

__all__ = ["FUNCTION_LOCAL", "ParallelPipeline", "function_local"]

_ROOM = "parpass.adapters.xdsl"

__getattr__, __dir__ = lazy_names(
    _ROOM,
    {
        "FUNCTION_LOCAL": f"{_ROOM}.locality",
        "ParallelPipeline": f"{_ROOM}.parallel_pipeline",
        "function_local": f"{_ROOM}.locality",
    },
)
