"""Values of partial evaluation: known parts, scopes, fuel and matching.

A value has code, and possibly a known part: a `Constant`, `Fields`, a
`ConstructedValue`, a `Reference` or a `PartialClosure`. The code is an atom, such as a
variable, so it may be used many times.

Fuel bounds the evaluation of recursive calls. As in TVM, each function has fuel that
can descend only finitely often. A call is evaluated if one of its arguments is older
than those of the enclosing calls, such as the tail of a known list, or is a smaller
natural number.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from parpass.ir.adt import Constructor
from parpass.ir.type_structure import substitute, type_vars_in
from parpass.ir.types import IncompleteType, Type, TypeVar
from parpass.relay.adt import (
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.expr import Constant, Expr, Function, Var


class _Measured(Protocol):
    @property
    def time(self) -> int: ...
    @property
    def count(self) -> int: ...


class Fuel(NamedTuple):
    """The fuel that is left for a function, and for the calls around it.

    Attributes:
        function: The function.
        left: Two numbers for each argument: its age, and its count.
        around: The fuel of the calls around.
    """

    function: Function
    remaining: tuple[int, ...]
    outer: Fuel | None


def consume_fuel(
    fuel: Fuel | None, function: Function, args: Sequence[_Measured]
) -> tuple[Fuel, bool]:
    """Return the fuel inside of a call, and whether there was some to burn."""
    given = tuple(number for arg in args for number in (arg.time, arg.count))
    known = fuel
    while known is not None and known.function is not function:
        known = known.outer
    if known is None:
        return Fuel(function, given, fuel), True
    remaining = tuple(map(min, known.remaining, given))
    return Fuel(function, remaining, fuel), remaining != known.remaining


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
        """The count that recursion may decrease: a scalar that is a natural number."""
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


class ConstructedValue(NamedTuple):
    """The value of a known constructor."""

    constructor: Constructor
    values: tuple[Partial, ...]


class Reference:
    """A reference that was created here; what it has now is in the store."""


class PartialScope:
    """The scope of one evaluation of a function's body.

    Attributes:
        values: The values of variables that are bound here.
        around: The enclosing scope of the function.
        types: The types for type variables.
        fuel: The fuel that is left, for functions that are evaluated here.
        is_copy: Whether the evaluation replaces a call.
    """

    __slots__ = ("around", "fuel", "is_copy", "types", "values")

    def __init__(
        self,
        around: PartialScope | None,
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
        scope: PartialScope | None = self
        while scope is not None:
            if var in scope.values:
                return scope.values[var]
            scope = scope.around
        raise KeyError(var)


class PartialClosure(NamedTuple):
    """A function that is known.

    Attributes:
        function: The function, in A-normal form.
        scope: Where it was met; None for a global one.
        itself: The variable that it is bound to, by which it may call itself.
    """

    function: Function
    scope: PartialScope | None
    itself: Var | None


class MatchResult(enum.Enum):
    """The result of a match: three-valued, since a value may not be known."""

    NO = enum.auto()
    UNKNOWN = enum.auto()
    YES = enum.auto()


def matched(pattern: Pattern, value: Partial, bound: dict[Var, Partial]) -> MatchResult:
    """Return whether a value matches, and enter the values of the variables.

    What does not match in one part does not match, whatever the others are.
    """
    found, waiting = MatchResult.YES, [(pattern, value)]
    while waiting:
        pattern, value = waiting.pop()
        if isinstance(pattern, PatternVar):
            bound[pattern.var] = value
        elif isinstance(pattern, PatternConstructor | PatternTuple):
            known = value.known
            if not isinstance(known, ConstructedValue | Fields):
                found = MatchResult.UNKNOWN
                continue
            if isinstance(pattern, PatternConstructor) and not _is_made_by(
                known, pattern
            ):
                return MatchResult.NO
            waiting += zip(pattern.inside, known.values, strict=True)
    return found


def _is_made_by(known: ConstructedValue | Fields, pattern: PatternConstructor) -> bool:
    if not isinstance(known, ConstructedValue):
        return False
    mine, other = known.constructor, pattern.constructor
    return mine is other or (
        mine.name_hint == other.name_hint and mine.belong_to == other.belong_to
    )


def types_in_call(
    known: PartialClosure, type_args: Sequence[Type], scope: PartialScope
) -> Mapping[TypeVar, Type]:
    """Return what type variables stand for in the body of a function that is called.

    Args:
        known: The function.
        type_args: The types that it is called with; InferType finds those that are
            missing.
        scope: Where it is called.
    """
    around: Mapping[TypeVar, Type]
    around = known.scope.types if known.scope is not None else {}
    own = known.function.type_params
    if not own:
        return around
    given = [substitute(one, scope.types) for one in type_args]
    given += [IncompleteType()] * (len(own) - len(given))
    return {**around, **dict(zip(own, given, strict=True))}


def types_in_code(
    function: Function, around: Mapping[TypeVar, Type]
) -> tuple[Mapping[TypeVar, Type], tuple[TypeVar, ...]]:
    """Return what type variables stand for in a function, and its type parameters.

    They get other names where types from outside have theirs.
    """
    if not function.type_params:
        return around, ()
    taken = {var.name_hint for typ in around.values() for var in type_vars_in(typ)}
    own: list[TypeVar] = []
    for param in function.type_params:
        name = param.name_hint
        while name in taken:
            name += "_"
        taken.add(name)
        own.append(param if name == param.name_hint else TypeVar(name, param.kind))
    return {**around, **dict(zip(function.type_params, own, strict=True))}, tuple(own)
