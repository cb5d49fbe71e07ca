"""Values of which some is known now, and code for all of it.

What is known is one of these, or nothing: a `Constant`, `Fields`, a `Made`, a
`Reference`, a `Closure`. The code is an atom, such as a variable, so it may be used
many times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from parpass.ir.adt import Constructor
from parpass.ir.types.ty import Type, TypeVar
from parpass.relay.expr import Constant, Expr, Function, Var
from parpass.relay.transform.partial_evaluation.fuel import Fuel


class Partial:
    """A value of which some may be known.

    Attributes:
        atom: A variable, a constant, or another name, that has the value when the
            program runs.
        known: What is known of it.
        line: The line that the variable is bound in, if it can be left out.
        time: Tells values from those that were there before.
    """

    __slots__ = ("atom", "known", "line", "time")

    def __init__(
        self, atom: Expr, known: Any = None, line: Any = None, time: int = 0
    ) -> None:
        self.atom = atom
        self.known = known
        self.line = line
        self.time = time

    def used(self) -> Expr:
        """Return the atom, for code that is kept."""
        if self.line is not None:
            self.line.is_wanted = True
        return self.atom

    @property
    def count(self) -> int:
        """What a recursion may count down: a scalar, if it is a natural number."""
        if not isinstance(self.known, Constant):
            return 0
        data = self.known.data
        if data.shape != () or data.dtype not in _COUNTS:
            return 0
        return max(0, int(data.numpy()))


_COUNTS = frozenset({"int32", "int64"})


class Fields(NamedTuple):
    """A tuple whose fields are known."""

    values: tuple[Partial, ...]


class Made(NamedTuple):
    """What a known constructor has made."""

    constructor: Constructor
    values: tuple[Partial, ...]


class Reference:
    """A reference that was created here; what it has now is in the store."""


class Scope:
    """What variables stand for in one run through the body of a function.

    Attributes:
        values: The values of those that are bound here.
        around: The scope that the function was met in.
        types: What type variables stand for.
        fuel: What is left of it, for functions that are evaluated here.
        is_copy: Whether this is in the place of a call.
    """

    __slots__ = ("around", "fuel", "is_copy", "types", "values")

    def __init__(
        self,
        around: Scope | None,
        types: Mapping[TypeVar, Type],
        fuel: Fuel | None,
        *,
        is_copy: bool,
    ) -> None:
        self.values: dict[Var, Partial] = {}
        self.around = around
        self.types = types
        self.fuel = fuel
        self.is_copy = is_copy

    def __getitem__(self, var: Var) -> Partial:
        scope: Scope | None = self
        while scope is not None:
            if var in scope.values:
                return scope.values[var]
            scope = scope.around
        raise KeyError(var)


class Closure(NamedTuple):
    """A function that is known.

    Attributes:
        function: The function, in A-normal form.
        scope: Where it was met; None for a global one.
        itself: The variable that it is bound to, by which it may call itself.
    """

    function: Function
    scope: Scope | None
    itself: Var | None
