"""The `parpass` command, which imports what it needs on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy

if TYPE_CHECKING:
    from parpass.cli.group import main

__all__ = ["main"]

__getattr__, __dir__ = attach_lazy(__name__, {"main": "parpass.cli.group"})
