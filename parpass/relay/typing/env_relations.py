"""The relations that constraints of types are made of, as registered functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from parpass.ir.types.ty import Type
from parpass.ir.types.type_relation import TYPE_RELATIONS
from parpass.ir.types.type_structure import is_complete
from parpass.runtime.registry import register_func

PREFIX = "tvm.relay.type_relation."


class Reporter(Protocol):
    """What relations tell what they find out."""

    def assign(self, dst: Type, src: Type) -> None:
        """Say that two types are one."""


def identity(
    args: Sequence[Type], num_inputs: int, attrs: Any, reporter: Reporter
) -> bool:
    """Relate types that are all the same."""
    del num_inputs, attrs
    for other in args[1:]:
        reporter.assign(args[0], other)
    return True


def broadcast(
    args: Sequence[Type], num_inputs: int, attrs: Any, reporter: Reporter
) -> bool:
    """Relate two tensors to what they broadcast to, as soon as both are known."""
    inputs = args[:num_inputs]
    if not all(map(is_complete, inputs)):
        return False
    reporter.assign(args[num_inputs], TYPE_RELATIONS["Broadcast"](inputs, attrs))
    return True


register_func(PREFIX + "Identity", identity)
register_func(PREFIX + "Broadcast", broadcast)
