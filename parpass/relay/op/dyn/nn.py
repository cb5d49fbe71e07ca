"""TVM's `dyn.nn`."""

from __future__ import annotations

from parpass.relay.op.dyn.dynamic import dyn_pad as pad
from parpass.relay.op.dyn.resize import dyn_upsampling as upsampling
from parpass.relay.op.dyn.resize import dyn_upsampling3d as upsampling3d

__all__ = ["pad", "upsampling", "upsampling3d"]
