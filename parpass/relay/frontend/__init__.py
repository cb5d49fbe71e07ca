"""Frontends: models of other formats become modules of the embedded IR.

Each frontend needs a library of its own, an optional extra; it is imported when one of
its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.relay.frontend.onnx import from_onnx

_HOMES = {"from_onnx": "parpass.relay.frontend.onnx"}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)


__all__ = ["from_onnx"]
