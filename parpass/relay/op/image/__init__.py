"""Operators on images: `relay.image`."""

from __future__ import annotations

from parpass.relay.op.image.resize import resize1d, resize2d, resize3d

__all__ = ["resize1d", "resize2d", "resize3d"]
