"""The place of TVM's graph executor, which is `runtime.graph_executor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.tvm_paths import attach_tvm_paths

if TYPE_CHECKING:
    from parpass.runtime import graph_executor as graph_executor

attach_tvm_paths(__name__)
