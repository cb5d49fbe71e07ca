"""The values of programs, and what gives them, where TVM has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.interpreter.interpreter import Executor
from parpass.relay.interpreter.values import ConstructorValue, RefValue

__all__ = ["ConstructorValue", "Executor", "RefValue"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
