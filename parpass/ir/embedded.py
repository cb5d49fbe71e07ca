"""The entry points of the embedded IRs: what is known of them without loading them."""

from __future__ import annotations

from parpass.entry_points import IR

RELAY = IR("relay", "parpass.relay", suffixes=(".relay",))
TIR = IR("tir", "parpass.relay", suffixes=(".tir",))  # they share a text and its parser
