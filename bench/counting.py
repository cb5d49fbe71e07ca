"""What crosses between processes, counted where it is made and where it arrives.

This module is imported by workers, too.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parpass import IRModule, relay
from parpass.relay.adapter import RelayAdapter
from parpass.transform.adapter import KeepOutside, Source

_RECORD = struct.Struct("<qq")  # bytes encoded, bytes decoded


@dataclass
class Counts:
    """Functions and bytes that a process encoded and decoded."""

    encoded: int = 0
    encoded_bytes: int = 0
    decoded: int = 0
    decoded_bytes: int = 0


class CountingAdapter(RelayAdapter):
    """Relay's adapter; notes what each process encodes and decodes.

    Args:
        folder: An empty one, where each process keeps its notes.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def encode_function(
        self, function: relay.Function, keep_outside: KeepOutside
    ) -> bytes:
        """Return a function as bytes."""
        encoded = super().encode_function(function, keep_outside)
        self._note(len(encoded), 0)
        return encoded

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: IRModule
    ) -> relay.Function:
        """Return a function."""
        self._note(0, len(encoded))
        return super().decode_function(encoded, outside, mod)

    def counts(self) -> dict[int, Counts]:
        """Return what has been noted so far, by process."""
        found: dict[int, Counts] = {}
        for file in Path(self.folder).iterdir():
            counts = found[int(file.name)] = Counts()
            for encoded, decoded in _RECORD.iter_unpack(file.read_bytes()):
                counts.encoded += encoded > 0
                counts.encoded_bytes += encoded
                counts.decoded += decoded > 0
                counts.decoded_bytes += decoded
        return found

    def _note(self, encoded: int, decoded: int) -> None:
        with Path(self.folder, str(os.getpid())).open("ab") as file:
            file.write(_RECORD.pack(encoded, decoded))
