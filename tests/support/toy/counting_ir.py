"""A foreign IR whose codec shows: functions know more than their bytes say.

A function is a list of names and a counter, from which the next new name is made, as
LLVM's values are named. Bytes are the names alone, and who decodes them goes on
counting behind the largest one: so a name that was dropped is used again then.

`Counted` says that functions make a round trip between passes. `Shown` does not, and so
breaks the law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from parpass.transform import (
    BlobSink,
    FunctionPass,
    FunctionwisePass,
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    Source,
    register_adapter,
)


@dataclass(frozen=True)
class Names:
    """A function: numbered names, and the number of the next one."""

    numbers: tuple[int, ...]
    following: int = field(compare=False)

    @classmethod
    def of(cls, *numbers: int) -> Names:
        """Return what the decoder makes of these names."""
        return cls(numbers, max(numbers, default=-1) + 1)


@dataclass(frozen=True)
class Counted:
    """A module, whose adapter keeps the law."""

    functions: Mapping[str, Names] = field(default_factory=dict[str, Names])


class Shown(Counted):
    """A module, whose adapter breaks it."""


class ShownAdapter(ModuleAdapter):
    """Handles modules, and says nothing of its codec."""

    module_type = Counted
    function_type = Names

    def size(self, function: Names, limit: int) -> int:
        return min(len(function.numbers) + 1, limit)

    def encode_function(self, function: Names, blob_sink: BlobSink) -> bytes:
        return ",".join(map(str, function.numbers)).encode()

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Counted
    ) -> Names:
        return Names.of(*map(int, filter(None, bytes(encoded).decode().split(","))))


class CountedAdapter(ShownAdapter):
    """Handles modules, and says that its codec shows."""

    round_trip_between_passes = True


register_adapter(Counted, CountedAdapter())
register_adapter(Shown, ShownAdapter())


class New(FunctionPass):
    """Adds a new name."""

    pass_info = PassInfo(0, "New")

    def transform_function(self, func: Names, mod: Counted, ctx: PassContext) -> Names:
        return Names((*func.numbers, func.following), func.following + 1)


class Drop(FunctionPass):
    """Takes the last name out; what has one alone is left as it is."""

    pass_info = PassInfo(0, "Drop")

    def transform_function(self, func: Names, mod: Counted, ctx: PassContext) -> Names:
        if len(func.numbers) < 2:
            return func
        return replace(func, numbers=func.numbers[:-1])


class NextOf(FunctionwisePass):
    """Adds the number that another function would use next."""

    def __init__(self, other: str) -> None:
        self.other = other
        self.pass_info = PassInfo(0, f"NextOf({other})")

    def transform_function(self, func: Names, mod: Counted, ctx: PassContext) -> Names:
        following = mod.functions[self.other].following
        return Names((*func.numbers, following), max(func.following, following) + 1)


class Look(ModulePass):
    """Adds a function with the next numbers of all others, at every use."""

    pass_info = PassInfo(0, "Look")

    def transform_module(self, mod: Counted, ctx: PassContext) -> Counted:
        seen = Names(tuple(one.following for one in mod.functions.values()), 999)
        return replace(mod, functions={**mod.functions, "seen": seen})


class DropAll(ModulePass):
    """Takes the last name out of all functions."""

    pass_info = PassInfo(0, "DropAll")

    def transform_module(self, mod: Counted, ctx: PassContext) -> Counted:
        drop = Drop()
        made = {
            name: drop.transform_function(one, mod, ctx)
            for name, one in mod.functions.items()
        }
        return replace(mod, functions=made)


def following_of(mod: Counted) -> dict[str, int]:
    """Return the next number of each function, which `==` does not compare."""
    return {name: one.following for name, one in mod.functions.items()}
