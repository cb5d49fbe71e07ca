"""`relay.data_dep_optimization`: changes of a program together with its weights."""

from __future__ import annotations

from parpass.relay.transform.simplify import simplify_fc_transpose

__all__ = ["simplify_fc_transpose"]
