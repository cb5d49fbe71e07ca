"""Instruments, which watch passes; TVM's `tvm.instrument`."""

from parpass.instrument.function_dump import DumpFunctions
from parpass.instrument.ir_printing import (
    DumpIR,
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintChanged,
)
from parpass.instrument.profiling import (
    PassProfile,
    PassStatisticsInstrument,
    PassTimingInstrument,
)
from parpass.instrument.protocol import PassInstrument, pass_instrument
from parpass.instrument.remarks import RemarksInstrument
from parpass.instrument.well_formed import WellFormedInstrument
from parpass.transform.instrument_hooks import now as hook_time

__all__ = [
    "DumpFunctions",
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassProfile",
    "PassStatisticsInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "PrintChanged",
    "RemarksInstrument",
    "WellFormedInstrument",
    "hook_time",
    "pass_instrument",
]
