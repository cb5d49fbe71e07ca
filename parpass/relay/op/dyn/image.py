"""TVM's `dyn.image`."""

from __future__ import annotations

from parpass.relay.op.dyn.resize import dyn_resize2d as resize2d

__all__ = ["resize2d"]
