"""Fuel: how far functions that call each other are evaluated in each other.

As TVM has it: each function burns fuel that can descend only finitely often. A call is
evaluated if it takes an argument that is older than those of the calls around it, such
as the tail of a list that is known, or a smaller natural number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from parpass.relay.expr import Function


class _Measured(Protocol):
    @property
    def time(self) -> int: ...
    @property
    def count(self) -> int: ...


class Fuel(NamedTuple):
    """What is left for a function, and around that for others.

    Attributes:
        function: The function.
        left: Two numbers for each argument: how old it is, and what it counts.
        around: The fuel of the calls around.
    """

    function: Function
    left: tuple[int, ...]
    around: Fuel | None


def burnt(
    fuel: Fuel | None, function: Function, args: Sequence[_Measured]
) -> tuple[Fuel, bool]:
    """Return the fuel inside of a call, and whether there was some to burn."""
    given = tuple(number for arg in args for number in (arg.time, arg.count))
    known = fuel
    while known is not None and known.function is not function:
        known = known.around
    if known is None:
        return Fuel(function, given, fuel), True
    left = tuple(map(min, known.left, given))
    return Fuel(function, left, fuel), left != known.left
