"""Passes of xDSL as passes of parpass: on functions, on modules, and verification.

xDSL's passes see modules. One that is known to work on each function by itself
(`locality`) is given one function at a time, in a module of its own, and so can
be run on many at once.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass as XDSLPass

from parpass.adapters.xdsl.around_functions import Surroundings
from parpass.adapters.xdsl.box import Box
from parpass.adapters.xdsl.locality import is_function_local
from parpass.adapters.xdsl.modules import XDSLModule
from parpass.adapters.xdsl.text_box import TextBox
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
)


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

    def transform_function(self, func: Box, mod: XDSLModule, ctx: PassContext) -> Box:
        """Return what it makes of a function; the same box if nothing changed."""
        if not (mod.is_checked or func.made_by):
            verify(func, mod)
        surroundings = Surroundings(func, mod)
        module = surroundings.put(func.take())
        self.xdsl_pass.apply(mod.environment.context(), module)
        made = Box(
            surroundings.take(module), made_by=self.info.name, prints=func.prints
        )
        # Text comes back as a worker prints it, even if nothing else changed.
        if isinstance(func, TextBox) or made.content != func.content:
            return made
        func.give_back(made.take())
        return func


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
            name: mod.boxes[name] if mod.boxes.get(name) == box else _owned(box, module)
            for name, box in made.boxes.items()
        }
        is_same = made.shell == mod.shell and list(boxes) == list(mod.boxes)
        if is_same and all(boxes[name] is mod.boxes[name] for name in boxes):
            return mod
        return dataclasses.replace(made, boxes=boxes, has_resources=mod.has_resources)


def _owned(box: Box, module: ModuleOp) -> Box:
    """Return a box that owns what it was lent of a module that nobody needs."""
    if box.lent is None or box.lent is module:
        return box
    box.lent.detach()
    return Box([box.lent], content=box.content)


class Verify(FunctionwisePass):
    """Verifies a function, among what it refers to, as `xdsl-opt` does after each pass.

    One that was verified since it changed last, and since what it refers to did, is
    not verified again.
    """

    pass_info = PassInfo(0, "verify")

    def transform_function(self, func: Box, mod: XDSLModule, ctx: PassContext) -> Box:
        """Return the function as it is.

        Raises:
            VerifyException: It is wrong.
        """
        verify(func, mod)
        return func


def verify(func: Box, mod: XDSLModule) -> None:
    """Verify a function of a module; see `Verify`."""
    surroundings = Surroundings(func, mod)
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
    if is_function_local(type(xdsl_pass)):
        return XDSLFunctionPass(xdsl_pass)
    return XDSLModulePass(xdsl_pass)
