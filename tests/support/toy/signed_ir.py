"""The toy IR with signatures: what a function states is its first number."""

from __future__ import annotations

from parpass.transform import FunctionPass, PassContext, PassInfo, register_adapter
from tests.support.runner.executors import WorkerDeath
from tests.support.toy.ir import Fn, Program, ReadOnlyProgram, ToyAdapter


class SignedProgram(Program):
    """A module whose functions state something."""


class SignedAdapter(ToyAdapter):
    """Handles them."""

    def signature(self, function: Fn) -> int | None:
        return function.values[0] if function.values else None


register_adapter(SignedProgram, SignedAdapter())


def stated(mod: ReadOnlyProgram, name: str) -> int:
    """Return what a function states, without reading it where that is possible."""
    ask = getattr(mod.functions, "signature", None)
    found = SignedAdapter().signature(mod[name]) if ask is None else ask(name)
    return found or 0


class Change(FunctionPass):
    """Has functions state something else."""

    pass_info = PassInfo(0, "Change")
    cacheable = "1"

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if ctx.function_name not in self.names:
            return func
        first, *rest = func.values or (0,)
        return func.with_values([first + 1, *rest])


class EndWhereTold(FunctionPass):
    """Ends its worker on a function that is told that another one states a number.

    Args:
        function: The function.
        other: The other one.
        numbers: The numbers; none for any.
    """

    pass_info = PassInfo(0, "EndWhereTold")

    def __init__(self, function: str, other: str, *numbers: int) -> None:
        self.function = function
        self.other = other
        self.numbers = numbers

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        if ctx.function_name != self.function:
            return func
        found = stated(mod, self.other)
        if not self.numbers or found in self.numbers:
            self.end()
        return func.with_values((*func.values, found))

    def end(self) -> None:
        raise WorkerDeath
