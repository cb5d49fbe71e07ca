"""Operators on images: `relay.image`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.op.image.resize import resize1d, resize2d, resize3d

__all__ = ["resize1d", "resize2d", "resize3d"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
