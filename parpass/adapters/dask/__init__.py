"""Dask: workers on other machines. Install `parpass[dask]`; see docs/with-dask.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.adapters.dask.dask_executor import DaskExecutor

__all__ = ["DaskExecutor"]

_ROOM = "parpass.adapters.dask"

__getattr__, __dir__ = lazy_names(_ROOM, {"DaskExecutor": f"{_ROOM}.dask_executor"})
