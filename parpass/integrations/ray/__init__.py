"""Ray: workers on other machines. Install `parpass[ray]`; see docs/executors.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.ray.ray_executor import RayExecutor

__all__ = ["RayExecutor"]

_ROOM = "parpass.integrations.ray"

__getattr__, __dir__ = attach_lazy(_ROOM, {"RayExecutor": f"{_ROOM}.ray_executor"})
