"""`relay.data_dep_optimization`: what changes a program together with its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.transform.simplify import simplify_fc_transpose

__all__ = ["simplify_fc_transpose"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
