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
    """A module around a function, with what it refers to.

    Args:
        box: The function.
        mod: The module that it is a part of.

    Attributes:
        stated: What others state of themselves, by name, as bytes.
    """

    def __init__(self, box: Box, mod: XDSLModule) -> None:
        self._shell = mod.shell
        boxes, symbols = mod.boxes, box.symbols
        known = [name for name in symbols if name in boxes]
        self.stated = {name: _signature(boxes, name) for name in known}
        others = [name for name in symbols if name not in boxes]
        if others and REST in boxes and boxes[REST] is not box:
            self.stated |= _of_rest(boxes[REST], others)

    def put(self, ops: Sequence[Operation]) -> ModuleOp:
        """Return a module with operations that were taken out of the box."""
        own = {symbol_of(op) for op in ops}
        around = {name: one for name, one in self.stated.items() if name not in own}
        self._around = around.keys()
        self._own = symbol_of(ops[0]) if ops else None
        if ops and isinstance(ops[0], ModuleOp) and self._own is None:
            module = ops[0]  # the rest is a module already
            self._is_rest = True
        else:
            module = empty_module(self._shell)
            module.body.block.add_ops(ops)
            self._is_rest = False
        self._declared = [op for content in around.values() for op in decode(content)]
        module.body.block.add_ops(self._declared)
        return module

    def inside(self, module: ModuleOp) -> list[Operation]:
        """Return what is in the module, but for what was put around it, own first."""
        # A pass may have put another one in the place of what it is not to touch.
        ops = [
            op
            for op in module.body.block.ops
            if symbol_of(op) not in self._around and op not in self._declared
        ]
        return sorted(ops, key=lambda op: symbol_of(op) != self._own)

    def take(self, module: ModuleOp) -> Sequence[Operation]:
        """Take the operations out of the module."""
        inside = self.inside(module)
        if self._is_rest:
            for op in set(module.body.block.ops).difference(inside):
                op.detach()
            return [module]
        for op in inside:
            op.detach()
        return inside


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
