"""TVM's `relay.op.contrib`: patterns of other compilers."""

from __future__ import annotations

from parpass.relay.op.contrib.register import get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]
