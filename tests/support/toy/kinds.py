"""Further kinds of toy modules, of each of which an adapter says something else.

Each new worker imports the modules of all adapters that are registered here when it
starts. So these import nothing that takes long, such as pytest.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from parpass.transform import BlobSink, Source, register_adapter
from tests.support.toy.ir import Fn, Program, ToyAdapter, ToyMutability


@dataclass(frozen=True)
class SizelessProgram(Program):
    """A module whose functions have no size."""


class SizelessAdapter(ToyAdapter):
    """Handles them."""

    def size(self, function: Fn, limit: int) -> int:
        return 0


@dataclass(frozen=True)
class OpenProgram(Program):
    """A module whose functions passes may change in place."""


class Copies(ToyMutability):
    """What is changed is a copy."""

    def to_change(self, function: Fn) -> Fn:
        return replace(function)


class OpenAdapter(ToyAdapter):
    """Handles modules whose functions may be changed."""

    mutability = Copies()


class CountedProgram(Program):
    """A module of which it is noted how often, and where, functions are packed here."""


class CountingAdapter(ToyAdapter):
    """Counts, in each process for itself."""

    packed = 0
    unpacking: ClassVar[set[threading.Thread]] = set()

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        CountingAdapter.packed += 1
        return super().encode_function(function, blob_sink)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Fn:
        CountingAdapter.unpacking.add(threading.current_thread())
        return super().decode_function(encoded, sources, mod)


register_adapter(SizelessProgram, SizelessAdapter())
register_adapter(OpenProgram, OpenAdapter())
register_adapter(CountedProgram, CountingAdapter())
