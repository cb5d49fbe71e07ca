"""The place of TVM's graph executor; parpass's is `runtime.graph_executor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.runtime import graph_executor

__all__ = ["graph_executor"]

__getattr__, __dir__ = attach_lazy(
    __name__, {}, submodules={"graph_executor": "parpass.runtime.graph_executor"}
)
