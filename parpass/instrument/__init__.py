"""Watchers of passes; TVM's `tvm.instrument`."""

from parpass.instrument.protocol import PassInstrument, pass_instrument

__all__ = ["PassInstrument", "pass_instrument"]
