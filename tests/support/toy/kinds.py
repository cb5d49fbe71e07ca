"""Further kinds of toy modules, of each of which an adapter says something else.

Each new worker imports the modules of all adapters that are registered here when it
starts. So these import nothing that takes long, such as pytest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from parpass.transform import BlobSink, register_adapter
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
    """A module of which it is counted how often a function is packed here."""


class CountingAdapter(ToyAdapter):
    """Counts, in each process for itself."""

    packed = 0

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        CountingAdapter.packed += 1
        return super().encode_function(function, blob_sink)


register_adapter(SizelessProgram, SizelessAdapter())
register_adapter(OpenProgram, OpenAdapter())
register_adapter(CountedProgram, CountingAdapter())
