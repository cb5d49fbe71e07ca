"""OpenTelemetry: spans and metrics of runs. Install `parpass[otel]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.otel.telemetry import Telemetry, caller_context

__all__ = ["Telemetry", "caller_context"]

_ROOM = "parpass.integrations.otel"

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {"Telemetry": f"{_ROOM}.telemetry", "caller_context": f"{_ROOM}.telemetry"},
)
