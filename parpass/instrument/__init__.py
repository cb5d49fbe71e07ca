"""Watchers of passes; TVM's `tvm.instrument`."""

from parpass.instrument.dump import DumpIR
from parpass.instrument.printing import (
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
)
from parpass.instrument.protocol import PassInstrument, pass_instrument
from parpass.instrument.statistics import PassStatisticsInstrument
from parpass.instrument.timing import PassProfile, PassTimingInstrument
from parpass.instrument.well_formed import WellFormedInstrument

__all__ = [
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassProfile",
    "PassStatisticsInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "WellFormedInstrument",
    "pass_instrument",
]
