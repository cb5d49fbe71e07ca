"""Reduction patterns of xDSL: remove operations, replace results by arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from parpass.integrations.xdsl.owned_ops import OwnedOps, is_isolated
from parpass.integrations.xdsl.xdsl_module import XDSLModule, place_of

# The name of a box, and the number of an operation in it, in pre-order.
_Item = tuple[str, int]


class DropOperations:
    """Takes operations out.

    Where a result is used, by what stays, an argument of its type takes its place.
    """

    many = True

    def items(self, mod: XDSLModule) -> Sequence[_Item]:
        """Return all that may go, what is around most others first."""
        found: list[tuple[int, _Item]] = []
        for name, box in mod.functions.items():
            ops = box.take()
            found += [(_size(op), (name, at)) for at, op in _inside(ops)]
            box.give_back(ops)
        return [item for _, item in sorted(found, key=lambda one: -one[0])]

    def without(self, mod: XDSLModule, items: Sequence[_Item]) -> XDSLModule:
        """Return the module without some, `mod` if they are all needed."""
        boxes = dict(mod.functions)
        for name in {name for name, _ in items}:
            box = boxes[name]
            ops = box.take()
            chosen = [op for at, op in _inside(ops) if (name, at) in set(items)]
            if _drop(chosen):
                boxes[name] = OwnedOps(ops, prints=box.prints)
            else:
                box.give_back(ops)
        if all(boxes[name] is box for name, box in mod.functions.items()):
            return mod
        return dataclasses.replace(mod, functions=boxes, is_checked=False)


def operations_in(box: OwnedOps) -> int:
    """Return how many operations there are in a box, all that are in others, too."""
    ops = box.take()
    count = sum(map(_size, ops))
    box.give_back(ops)
    return count


def _inside(ops: Sequence[Operation]) -> Iterator[tuple[int, Operation]]:
    """Yield the operations in others that may go, with their numbers."""
    walked = enumerate(inner for op in ops for inner in op.walk())
    for at, op in walked:
        is_needed = op.has_trait(IsTerminator, value_if_unregistered=False)
        if op.parent is not None and not is_needed and place_of(op) is None:
            yield at, op


def _size(op: Operation) -> int:
    return sum(1 for _ in op.walk())


def _drop(chosen: Sequence[Operation]) -> bool:
    """Erase operations, users first; return whether one could be."""
    is_any = False
    for op in reversed(chosen):
        used = [result for result in op.results if result.first_use is not None]
        arguments = [_argument_like(result, op) for result in used]
        if None in arguments:
            continue
        for result, argument in zip(used, arguments, strict=True):
            assert argument is not None
            result.replace_all_uses_with(argument)
        op.detach()
        op.erase()
        is_any = True
    return is_any


def _argument_like(result: SSAValue, op: Operation) -> SSAValue | None:
    """Return an argument of the same type that is known where an operation is."""
    block = op.parent
    while block is not None:
        around = block.parent_op()
        known = [*block.args]
        if block.parent is not None:
            known += block.parent.blocks[0].args
        for argument in known:
            if argument.type == result.type:
                return argument
        if around is None or is_isolated(around):
            return None
        block = around.parent
    return None
