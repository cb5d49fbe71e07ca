"""The `parpass` command. What it needs is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names

if TYPE_CHECKING:
    from parpass.cli.group import main

__all__ = ["main"]

__getattr__, __dir__ = lazy_names(__name__, {"main": "parpass.cli.group"})
