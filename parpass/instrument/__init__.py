"""Watchers of passes; TVM's `tvm.instrument`."""

from parpass.instrument.printing import (
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
)
from parpass.instrument.protocol import PassInstrument, pass_instrument
from parpass.instrument.timing import PassProfile, PassTimingInstrument

__all__ = [
    "PassInstrument",
    "PassPrintingInstrument",
    "PassProfile",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]
