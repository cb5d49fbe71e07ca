"""Where TVM has its graph executor; parpass's is `runtime.graph_executor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.runtime import graph_executor

__all__ = ["graph_executor"]

__getattr__, __dir__ = lazy_names(
    __name__, {}, rooms={"graph_executor": "parpass.runtime.graph_executor"}
)
