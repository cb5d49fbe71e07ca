"""Dask: workers on other machines. Install `parpass[dask]`; see docs/with-dask.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.dask.dask_executor import DaskExecutor

__all__ = ["DaskExecutor"]

_ROOM = "parpass.integrations.dask"

__getattr__, __dir__ = attach_lazy(_ROOM, {"DaskExecutor": f"{_ROOM}.dask_executor"})
