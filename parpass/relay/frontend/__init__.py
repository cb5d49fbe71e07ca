"""Frontends, which import models of other formats as Relay modules.

Each frontend needs a library, an optional extra. It is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.relay.frontend.onnx import from_onnx

_HOMES = {"from_onnx": "parpass.relay.frontend.onnx"}

__getattr__, __dir__ = attach_lazy(__name__, _HOMES)


__all__ = ["from_onnx"]
