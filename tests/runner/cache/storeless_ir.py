"""The toy IR, whose adapter cannot say how functions are stored."""

from __future__ import annotations

from typing import Any

from parpass.transform import register_adapter
from tests.support.toy.ir import Program, ToyAdapter


class StorelessProgram(Program):
    """A module of it."""


class StorelessAdapter(ToyAdapter):
    """Handles it."""

    def store_codec(self, mod: Any) -> Any:
        raise ValueError("no codec")


register_adapter(StorelessProgram, StorelessAdapter())
