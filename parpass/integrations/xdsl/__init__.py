"""xDSL: its passes on every core. Install `parpass[xdsl]`; see docs/xdsl.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.xdsl.context_spec import register_dialect
    from parpass.integrations.xdsl.locality import FUNCTION_LOCAL, function_local
    from parpass.integrations.xdsl.parallel_pipeline import ParallelPipeline
    from parpass.integrations.xdsl.pass_factories import register_xdsl_pass

__all__ = [
    "FUNCTION_LOCAL",
    "ParallelPipeline",
    "function_local",
    "register_dialect",
    "register_xdsl_pass",
]

_ROOM = "parpass.integrations.xdsl"

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {
        "FUNCTION_LOCAL": f"{_ROOM}.locality",
        "ParallelPipeline": f"{_ROOM}.parallel_pipeline",
        "function_local": f"{_ROOM}.locality",
        "register_dialect": f"{_ROOM}.context_spec",
        "register_xdsl_pass": f"{_ROOM}.pass_factories",
    },
)
