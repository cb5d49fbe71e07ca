"""`relay.build_module`, as far as parpass has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.binding import bind_params_by_name
from parpass.relay.interpreter.interpreter import create_executor

__all__ = ["bind_params_by_name", "create_executor"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
