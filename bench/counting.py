"""What crosses between processes, counted where it is made and where it arrives.

This module is imported by workers, too.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parpass import IRModule
from parpass.ir.base_func import BaseFunc
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.transform import BlobSink, Source

_RECORD = struct.Struct("<qqq")  # bytes encoded, bytes decoded, functions decoded


@dataclass
class Counts:
    """Functions and bytes that a process encoded and decoded."""

    encoded: int = 0
    encoded_bytes: int = 0
    decoded: int = 0
    decoded_bytes: int = 0


class CountingAdapter(IRModuleAdapter):
    """The adapter of `IRModule`; notes what each process encodes and decodes.

    Args:
        folder: An empty one, where each process keeps its notes.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def encode_function(self, function: BaseFunc, blob_sink: BlobSink) -> bytes:
        """Return a function as bytes."""
        encoded = super().encode_function(function, blob_sink)
        self._note(encoded=len(encoded))
        return encoded

    def open_encoder(self, blob_sink: BlobSink) -> Callable[[BaseFunc], bytes | None]:
        """Return what encodes functions in one run."""
        encode = super().open_encoder(blob_sink)

        def counted(function: BaseFunc) -> bytes | None:
            encoded = encode(function)
            self._note(encoded=len(encoded or b""))
            return encoded

        return counted

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: IRModule
    ) -> BaseFunc:
        """Return a function."""
        self._note(decoded=len(encoded), functions=1)
        return super().decode_function(encoded, sources, mod)

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: IRModule
    ) -> Callable[[], BaseFunc]:
        """Return what decodes the functions of a run; all of its bytes count."""
        self._note(decoded=len(encoded))
        decode = super().open_decoder(encoded, sources, mod)

        def counted() -> BaseFunc:
            self._note(functions=1)
            return decode()

        return counted

    def counts(self) -> dict[int, Counts]:
        """Return what has been noted so far, by process."""
        found: dict[int, Counts] = {}
        for file in Path(self.folder).iterdir():
            counts = found[int(file.name)] = Counts()
            for record in _RECORD.iter_unpack(file.read_bytes()):
                encoded, decoded, functions = record
                counts.encoded += encoded > 0
                counts.encoded_bytes += encoded
                counts.decoded += functions
                counts.decoded_bytes += decoded
        return found

    def _note(self, encoded: int = 0, decoded: int = 0, functions: int = 0) -> None:
        with Path(self.folder, str(os.getpid())).open("ab") as file:
            file.write(_RECORD.pack(encoded, decoded, functions))
