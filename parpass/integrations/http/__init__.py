"""Results of a function cache on a server: GET and PUT of an object by key.

`HttpLayer` is a cache layer: `FunctionCache(lower=[HttpLayer(url)])`. A URL in place of
the layer is only read. Install `parpass[http]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.http.http_layer import HttpLayer

__all__ = ["HttpLayer"]

_ROOM = "parpass.integrations.http"

__getattr__, __dir__ = attach_lazy(_ROOM, {"HttpLayer": f"{_ROOM}.http_layer"})
