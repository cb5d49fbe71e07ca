"""A third tiny foreign IR: functions are changed in place, and nothing is said of it.

Its modules are `toy_ir.Program`s of functions whose `with_values` changes the function
and returns it, so that all passes on the toy IR change functions in place here. In an
`OwnedProgram` each function knows its module besides: its adapter sets that, and that
of an `AdoptedProgram` leaves it to parpass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    register_adapter,
)
from tests.support.toy.ir import Fn, Program, ToyAdapter


class Digit:
    """One of the numbers of a function, which it knows."""

    def __init__(self, value: int, parent: OpenFn) -> None:
        self.value, self.parent = value, parent


class OpenFn:
    """A function: numbers that are changed in place."""

    def __init__(self, values: Iterable[int], *, skip: bool = False) -> None:
        self.digits = [Digit(value, self) for value in values]
        self.skip = skip
        self.owner: Program | None = None

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers."""
        assert all(one.parent is self for one in self.digits)
        return tuple(one.value for one in self.digits)

    def with_values(self, values: Iterable[int]) -> OpenFn:
        """Change it in place, and return it."""
        self.digits[:] = [Digit(value, self) for value in tuple(values)]
        return self

    def __repr__(self) -> str:  # as passes log it, here and in workers
        return f"OpenFn({self.values}, skip={self.skip})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenFn) and self._all() == other._all()

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as of a list

    def _all(self) -> Any:
        return self.values, self.skip, None if self.owner is None else self.owner.title


class OpenProgram(Program):
    """A module of functions that are changed in place."""


class OwnedProgram(OpenProgram):
    """A module that its functions know."""


class AdoptedProgram(OpenProgram):
    """A module that its functions know, though no adapter says so."""


class OpenAdapter(ToyAdapter):
    """Handles programs of functions that can be changed; it states nothing of that."""

    mutability = ModuleAdapter.mutability  # pyright: ignore[reportAssignmentType]

    def is_function(self, value: Any) -> bool:
        return isinstance(value, OpenFn)

    def read_only(
        self, mod: Program, functions: Mapping[str, Any], reader: str
    ) -> Program:
        shown = super().read_only(mod, functions, reader)
        return type(mod)(shown.functions, mod.title, mod.sources)


class OwningAdapter(OpenAdapter):
    """Sets what functions know of their module."""

    def with_functions(self, mod: Program, functions: Mapping[str, Any]) -> Program:
        made = replace(mod, functions=functions)
        for function in functions.values():
            function.owner = made
        return made


register_adapter(OpenProgram, OpenAdapter())
register_adapter(AdoptedProgram, OpenAdapter())
register_adapter(OwnedProgram, OwningAdapter())


def opened(
    functions: Mapping[str, Fn], kind: type[OpenProgram] = OpenProgram
) -> OpenProgram:
    """Return a program of functions to change, with the numbers of those."""
    made: dict[str, Any] = {
        name: OpenFn(one.values, skip=one.skip) for name, one in functions.items()
    }
    mod = kind(made)
    if kind is not OpenProgram:
        for function in made.values():
            function.owner = mod
    return mod


class AddFromOwner(FunctionPass):
    """Appends the numbers of a function of the module that its argument knows."""

    pass_info = PassInfo(0, "AddFromOwner")

    def __init__(self, other: str) -> None:
        self.other = other

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        if func.owner is None:
            return func
        assert func.owner is mod
        other: Any = func.owner[self.other]
        assert other.owner is mod
        return func.with_values((*func.values, *other.values))


class AddInPlace(ModulePass):
    """Adds 1 to all numbers, in place, and returns the module that it was given."""

    pass_info = PassInfo(0, "AddInPlace")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        for function in mod.functions.values():
            function.with_values(value + 1 for value in function.values)
        return mod


class Undo(FunctionPass):
    """Changes its argument, and changes it back."""

    pass_info = PassInfo(0, "Undo")

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        func.skip = not func.skip
        func.skip = not func.skip
        return func


class FailAfterChange(FunctionPass):
    """Changes its argument, and raises on functions that have a number."""

    pass_info = PassInfo(0, "FailAfterChange")

    def __init__(self, number: int) -> None:
        self.number = number

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        had = self.number in func.values
        func.with_values(())
        if had:
            raise ValueError(f"met {self.number}")
        return func


class Spoil(FunctionPass):
    """Changes another function, which no pass may."""

    pass_info = PassInfo(0, "Spoil")

    def __init__(self, other: str) -> None:
        self.other = other

    def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
        other: Any = mod[self.other]
        other.with_values([7])
        return func
