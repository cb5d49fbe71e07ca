"""Passes of xDSL as passes of parpass: on functions, on modules, and verification.

xDSL's passes work on modules. One that works on each function separately (`locality`)
is given one function at a time, in a module of its own, and so runs in parallel. Other
functions are in that module as declarations, from the start of the stage.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass as XDSLPass

from parpass.integrations.xdsl.locality import is_function_local
from parpass.integrations.xdsl.owned_ops import OwnedOps, UnparsedOps, symbol_of
from parpass.integrations.xdsl.xdsl_codec import decode
from parpass.integrations.xdsl.xdsl_module import REST, XDSLModule, empty_module
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
)


class EnclosingModule:
    """A module around a function, with what it refers to.

    Args:
        box: The function.
        mod: The module that it is a part of.

    Attributes:
        stated: What others state of themselves, by name, as bytes.
    """

    def __init__(self, box: OwnedOps, mod: XDSLModule) -> None:
        self._shell = mod.shell
        boxes, symbols = mod.functions, box.symbols
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


def _of_rest(rest: OwnedOps, names: Sequence[str]) -> dict[str, bytes]:
    [module] = rest.take()
    assert isinstance(module, ModuleOp)
    found = {
        name: OwnedOps.of(op).signature
        for op in module.body.block.ops
        if (name := symbol_of(op)) in names and name is not None
    }
    rest.give_back([module])
    return found


class _OfXDSL(Pass):
    """A pass whose body is a pass of xDSL; its fields are the options.

    Args:
        xdsl_pass: The pass.
    """

    def __init__(self, xdsl_pass: XDSLPass) -> None:
        self.xdsl_pass = xdsl_pass
        self.pass_info = PassInfo(0, xdsl_pass.name)

    def __getstate__(self) -> dict[str, Any]:
        # What made it is for printing pipelines, and would take long to load.
        return {name: one for name, one in vars(self).items() if name != "factory"}

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("xdsl_pass")  # not there while it is unpickled
        if fields is None or name not in (
            one.name for one in dataclasses.fields(fields)
        ):
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        return getattr(fields, name)


class XDSLFunctionPass(_OfXDSL, FunctionPass):
    """A pass of xDSL that works on each function by itself."""

    def transform_function(
        self, func: OwnedOps, mod: XDSLModule, ctx: PassContext
    ) -> OwnedOps:
        """Return what it makes of a function; the same box if nothing changed."""
        if not (mod.is_checked or func.made_by):
            verify(func, mod)
        surroundings = EnclosingModule(func, mod)
        module = surroundings.put(func.take())
        self.xdsl_pass.apply(mod.environment.context(), module)
        made = OwnedOps(
            surroundings.take(module), made_by=self.info.name, prints=func.prints
        )
        # Text comes back as a worker prints it, even if nothing else changed.
        if isinstance(func, UnparsedOps) or made.content != func.content:
            return made
        func.give_back(made.take())
        return func


@dataclass(frozen=True)
class _Read(XDSLPass):
    name = "read"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Leave a module as it is."""


# What a function that is text goes through where it is only to be read.
READ = XDSLFunctionPass(_Read())


class XDSLModulePass(_OfXDSL, ModulePass):
    """A pass of xDSL that has to see all of a module at once."""

    def transform_module(self, mod: XDSLModule, ctx: PassContext) -> XDSLModule:
        """Return what it makes of a module; boxes that are as before are the same."""
        module = mod.to_op()
        if not mod.is_checked:
            module.verify()
        self.xdsl_pass.apply(mod.environment.context(), module)
        module.verify()
        made = XDSLModule.of(module, mod.environment)
        boxes = {
            name: mod.functions[name]
            if mod.functions.get(name) == box
            else _owned(box, module)
            for name, box in made.functions.items()
        }
        is_same = made.shell == mod.shell and list(boxes) == list(mod.functions)
        if is_same and all(boxes[name] is mod.functions[name] for name in boxes):
            return mod
        return dataclasses.replace(
            made, functions=boxes, has_resources=mod.has_resources
        )


def _owned(box: OwnedOps, module: ModuleOp) -> OwnedOps:
    """Return an `OwnedOps` that owns operations detached from a module."""
    if box.lent is None or box.lent is module:
        return box
    box.lent.detach()
    return OwnedOps([box.lent], content=box.content)


class Verify(FunctionwisePass):
    """Verifies a function, among what it refers to, as `xdsl-opt` does after each pass.

    One that was verified since it changed last, and since what it refers to did, is
    not verified again.
    """

    pass_info = PassInfo(0, "verify")

    def transform_function(
        self, func: OwnedOps, mod: XDSLModule, ctx: PassContext
    ) -> OwnedOps:
        """Return the function as it is.

        Raises:
            VerifyException: It is wrong.
        """
        verify(func, mod)
        return func


def verify(func: OwnedOps, mod: XDSLModule) -> None:
    """Verify a function of a module; see `Verify`."""
    surroundings = EnclosingModule(func, mod)
    if func.verified_with == surroundings.stated:
        return
    module = surroundings.put(func.take())
    try:
        module.verify(verify_nested_ops=False)
        for op in surroundings.inside(module):
            op.verify()
    except Exception as error:
        if func.made_by:
            error.add_note(f"after pass '{func.made_by}'")
        raise
    func.give_back(surroundings.take(module))
    func.verified_with = surroundings.stated


def pass_of(xdsl_pass: XDSLPass) -> Pass:
    """Return a pass of xDSL as one on functions, if it may be, or on modules."""
    if is_function_local(xdsl_pass):
        return XDSLFunctionPass(xdsl_pass)
    return XDSLModulePass(xdsl_pass)
