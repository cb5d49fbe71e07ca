"""TVM's `dyn.nn`."""

from __future__ import annotations

from parpass.relay.op.dyn.shape import dyn_pad as pad

__all__ = ["pad"]
