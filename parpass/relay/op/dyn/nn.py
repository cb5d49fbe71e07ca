"""TVM's `dyn.nn`."""

from __future__ import annotations

from parpass.relay.op.dyn.resize import dyn_upsampling as upsampling
from parpass.relay.op.dyn.resize import dyn_upsampling3d as upsampling3d
from parpass.relay.op.dyn.shape import dyn_pad as pad

__all__ = ["pad", "upsampling", "upsampling3d"]
