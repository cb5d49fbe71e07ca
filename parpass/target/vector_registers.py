"""How many vector registers a target has, and what they hold."""

from __future__ import annotations

from typing import NamedTuple

from parpass.target.target import Target
from parpass.tir.data_type import data_type

# From one lane to the next: up to that loads are of whole vectors, which are shuffled.
LONGEST_STRIDE = 4


class VectorRegisters(NamedTuple):
    """The registers of a target.

    Attributes:
        number: How many there are.
        bits: How long each is.
    """

    number: int
    bits: int

    @staticmethod
    def of(target: Target) -> VectorRegisters:
        """Return what a target has."""
        features = target.features()
        if "avx512f" in features:
            return VectorRegisters(32, 512)
        if "avx" in features:
            return VectorRegisters(16, 256)
        return VectorRegisters(32 if "neon" in features else 16, 128)

    def lanes(self, dtype: str) -> int:
        """Return how many values of a dtype one holds."""
        return max(1, self.bits // data_type(dtype).bits)

    def of_vector(self, dtype: str, lanes: int) -> int:
        """Return how many registers a vector takes."""
        return -(-lanes // self.lanes(dtype))
