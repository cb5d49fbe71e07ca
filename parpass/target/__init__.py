"""Machine code: for which machine, and how it is made of loop programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.target.target import Target, TargetKind, create, list_kinds

__all__ = ["Target", "TargetKind", "create", "list_kinds"]

_HOME = dict.fromkeys(__all__, "parpass.target.target")

__getattr__, __dir__ = lazy_names(__name__, _HOME)
