"""Where memory is, by the storage scope of its pointer: `global`, `local.cache`."""

from __future__ import annotations

from typing import NamedTuple, cast

from parpass.ir.types.prim_ty import PointerType
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var

_RANKS = ("global", "shared", "warp", "local", "wmma", "texture")
_ORDINARY_TAGS = ("", ".dyn", ".workspace")


class StorageScope(NamedTuple):
    """A storage scope taken apart, as TVM's.

    Attributes:
        rank: How near the memory is: `global`, `shared`, `local` and so on.
        tag: What follows that, the name of a memory of the machine.
    """

    rank: str
    tag: str

    @property
    def is_tagged(self) -> bool:
        """Whether this is a memory of the machine that all have to share."""
        return self.tag not in _ORDINARY_TAGS

    @property
    def is_near(self) -> bool:
        """Whether a compiler may keep this in registers, which sharing forbids."""
        return self.rank not in ("global", "shared") and not self.tag


def scope_of(pointer: Var) -> StorageScope:
    """Return where the memory of a pointer is."""
    named = cast("PointerType", pointer.type_annotation).storage_scope or "global"
    rank = next((one for one in _RANKS if named.startswith(one)), "")
    return StorageScope(rank, named.removeprefix(rank))


def stored_bits(dtype: str) -> int:
    """Return how many bits one element has in memory, where bools are bytes."""
    kind = data_type(dtype)
    return -(-kind.bits // 8) * 8 * kind.lanes
