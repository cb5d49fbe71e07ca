"""Where TVM has the values of its interpreter; parpass's is `relay.interpreter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
