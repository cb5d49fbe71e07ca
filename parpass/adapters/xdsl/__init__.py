"""xDSL: its passes on every core. Install `parpass[xdsl]`; see docs/xdsl.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.adapters.xdsl.locality import FUNCTION_LOCAL, function_local
    from parpass.adapters.xdsl.parallel_pipeline import ParallelPipeline
    from parpass.adapters.xdsl.pass_factories import register_xdsl_pass
    from parpass.adapters.xdsl.xdsl_environment import register_dialect

__all__ = [
    "FUNCTION_LOCAL",
    "ParallelPipeline",
    "function_local",
    "register_dialect",
    "register_xdsl_pass",
]

_ROOM = "parpass.adapters.xdsl"

__getattr__, __dir__ = lazy_names(
    _ROOM,
    {
        "FUNCTION_LOCAL": f"{_ROOM}.locality",
        "ParallelPipeline": f"{_ROOM}.parallel_pipeline",
        "function_local": f"{_ROOM}.locality",
        "register_dialect": f"{_ROOM}.xdsl_environment",
        "register_xdsl_pass": f"{_ROOM}.pass_factories",
    },
)
