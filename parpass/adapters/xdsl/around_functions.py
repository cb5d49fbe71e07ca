"""What is around a function while a pass works on it: a module, and what it refers to.

Of other functions there is what they state, without their bodies, as declarations. They
are those of the step's beginning, which the runner finds out, wherever it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from parpass.adapters.xdsl.box import Box, symbol_of
from parpass.adapters.xdsl.codec import decode
from parpass.adapters.xdsl.modules import REST, XDSLModule, empty_module


class Surroundings:
    """What a box refers to in its module.

    Args:
        box: The box.
        mod: The module.

    Attributes:
        stated: What the others state of themselves, by name, as bytes.
    """

    def __init__(self, box: Box, mod: XDSLModule) -> None:
        self._mod = mod
        boxes = mod.boxes
        asked = [name for name in box.symbols if name in boxes]
        # The names are those of roots; the rest has names that are not boxes.
        self.stated = {name: _signature(boxes, name) for name in asked}
        unknown = [name for name in box.symbols if name not in boxes]
        if unknown and REST in boxes and boxes[REST] is not box:
            self.stated |= _of_rest(boxes[REST], unknown)

    def around(self, ops: Sequence[Operation]) -> tuple[ModuleOp, set[str]]:
        """Return a module with operations, and the names of what is around them."""
        [first] = ops[:1] or [None]
        own = {symbol_of(op) for op in ops}
        stated = {name: one for name, one in self.stated.items() if name not in own}
        if isinstance(first, ModuleOp) and symbol_of(first) is None:
            module = first  # the rest, which is a module already
        else:
            module = empty_module(self._mod.shell)
            module.body.block.add_ops(ops)
        for content in stated.values():
            module.body.block.add_ops(decode(content))
        return module, set(stated)


def taken_out(
    module: ModuleOp, ops: Sequence[Operation], around: set[str]
) -> Sequence[Operation]:
    """Return what is in a module, but for what was put around it.

    Args:
        module: The module of `Surroundings.around`, after a pass.
        ops: The operations that were put into it.
        around: The names of what was put around them.
    """
    left = [op for op in module.body.block.ops if symbol_of(op) not in around]
    if ops[:1] == [module]:
        for op in list(module.body.block.ops):
            if op not in left:
                op.detach()
        return ops
    for op in left:
        op.detach()
    return left


def _signature(boxes: Any, name: str) -> bytes:
    ask = getattr(boxes, "signature", None)  # not of the mapping of a serial run
    stated = None if ask is None else ask(name)
    return boxes[name].signature if stated is None else stated


def _of_rest(rest: Box, names: Sequence[str]) -> dict[str, bytes]:
    [module] = rest.take()
    assert isinstance(module, ModuleOp)
    found = {
        name: Box.of(op).signature
        for op in module.body.block.ops
        if (name := symbol_of(op)) in names and name is not None
    }
    rest.give_back([module])
    return found
