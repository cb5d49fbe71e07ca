"""Passes that take bodies out of boxes, or tell in what form these come to them."""

from __future__ import annotations

from typing import Any, ClassVar

from parpass.transform import FunctionPass, PassContext, PassInfo, owns
from tests.support.toy.box_ir import Body, Box
from tests.support.toy.ir import Program


class Spoil(FunctionPass):
    """Takes the body, changes it, and fails if it has a number above 2."""

    pass_info = PassInfo(0, "Spoil")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        body = func.take()
        body.assign(one.value + 100 for one in [*body.numbers])
        if body.numbers and body.numbers[0].value > 102:
            raise ValueError("spoiled")
        return Box(body)


class Reread(FunctionPass):
    """Adds 1, and then appends what its function was before, by the module."""

    pass_info = PassInfo(0, "Reread")

    def __init__(self, name: str) -> None:
        self.name = name

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        made = func.with_values(value + 1 for value in func.values)
        return made.with_values((*made.values, *mod[self.name].values))


class Tell(FunctionPass):
    """Counts of how many functions it may take the body for good; adds 1."""

    pass_info = PassInfo(0, "Tell")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        ctx.count("handed over", int(owns(func)))
        return func.with_values(value + 1 for value in func.values)


class TellForm(FunctionPass):
    """Counts the forms in which functions come to it."""

    pass_info = PassInfo(0, "TellForm")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        ctx.count(func.form)
        return func


class Declare(FunctionPass):
    """Has each function need two declarations, of which one is needed by all."""

    pass_info = PassInfo(0, "Declare")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        added = {*func.added, "all", f"of_{ctx.function_name}"}
        return Box(content=func.encoded(), skip=func.skip, added=sorted(added))


class TellLetGo(FunctionPass):
    """Adds 1; counts what it has made before and was let go of since."""

    pass_info = PassInfo(0, "TellLetGo")
    made: ClassVar[list[Body]] = []

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Box:
        ctx.count("let go", sum(one.is_discarded for one in self.made))
        box = func.with_values(value + 1 for value in func.values)
        self.made.append(box.body)
        return box
