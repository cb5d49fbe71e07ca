"""Frontends: models of other formats become modules of the embedded IR.

Each frontend needs a library of its own, an optional extra; it is imported when one of
its names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parpass.errors.missing_names import no_attribute

if TYPE_CHECKING:
    from parpass.relay.frontend.onnx import from_onnx

_HOMES = {"from_onnx": "parpass.relay.frontend.onnx"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise no_attribute(__name__, name)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)


__all__ = ["from_onnx"]
