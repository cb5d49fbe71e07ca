"""Matches of algebraic data types: patterns, clauses, and the expression.

A pattern is no expression. A clause binds the variables of its pattern in its
expression, as a function binds its parameters; so it is a node that opens a scope, and
a match is a node whose children are a value and clauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError, kind_of
from parpass.errors.missing_names import refusing
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.node import Node, Role, reflected
from parpass.ir.types.ty import Type
from parpass.ir.types.type_structure import MAX_NESTING
from parpass.relay.expr import Expr, Var


class Pattern(Node, frozen=True, eq=False):
    """What a value may look like, and variables for parts of it."""

    namespace: ClassVar[str] = "relay"

    @property
    def inside(self) -> tuple[Pattern, ...]:
        """The patterns for the parts of the value."""
        return ()

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables that it binds, from left to right."""
        return tuple([var for part in self.inside for var in part.variables])

    @property
    def depth(self) -> int:
        """How deep patterns are nested in it."""
        return max([1 + part.depth for part in self.inside], default=0)

    @property
    def shape(self) -> tuple[Any, ...]:
        """What it matches, whatever the names and types of its variables."""
        return (type(self).__name__, *(part.shape for part in self.inside))

    def with_variables(self, variables: Sequence[Var]) -> Pattern:
        """Return this pattern with other variables, in the order of `variables`."""
        if all(old is new for old, new in zip(self.variables, variables, strict=True)):
            return self
        rest, parts = [*variables], list[Pattern]()
        for part in self.inside:
            count = len(part.variables)
            parts.append(part.with_variables(rest[:count]))
            del rest[:count]
        return self.rebuilt(parts)

    def rebuilt(self, inside: Sequence[Pattern]) -> Pattern:
        """Return this pattern with others for the parts of the value."""
        del inside
        return self


@reflected(is_graph=False)
class PatternWildcard(Pattern, frozen=True, eq=False):
    """Matches every value, and binds nothing."""

    span: Span | None = None


@reflected(is_graph=False, var=Role.BINDING)
class PatternVar(Pattern, frozen=True, eq=False):
    """Matches every value, and binds a variable to it."""

    var: Var
    span: Span | None = None

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variable."""
        return (self.var,)

    def with_variables(self, variables: Sequence[Var]) -> PatternVar:
        """Return this pattern with another variable."""
        [var] = variables
        return self if var is self.var else PatternVar(var, self.span)


@reflected(is_graph=False, constructor=Role.CHILD, patterns=Role.CHILDREN)
class PatternConstructor(Pattern, frozen=True, eq=False):
    """Matches what a constructor has made of what the patterns match.

    Raises:
        SizeLimitError: Patterns would be nested too deep.
    """

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()
    span: Span | None = None

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            constructor: Constructor,
            patterns: Sequence[Pattern] | None = (),
            span: Span | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def inside(self) -> tuple[Pattern, ...]:
        """The patterns for what the constructor was given."""
        return self.patterns

    @property
    def shape(self) -> tuple[Any, ...]:
        """The names of the type and of the constructor, and the shapes inside."""
        made = self.constructor
        names = (made.belong_to.name_hint, made.name_hint)
        return (*names, *(part.shape for part in self.patterns))

    def rebuilt(self, inside: Sequence[Pattern]) -> PatternConstructor:
        """Return this pattern with others inside."""
        return PatternConstructor(self.constructor, inside, self.span)


@reflected(is_graph=False, patterns=Role.CHILDREN)
class PatternTuple(Pattern, frozen=True, eq=False):
    """Matches a tuple of what the patterns match.

    Raises:
        SizeLimitError: Patterns would be nested too deep.
    """

    patterns: tuple[Pattern, ...] = ()
    span: Span | None = None

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            patterns: Sequence[Pattern] | None = (),
            span: Span | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def inside(self) -> tuple[Pattern, ...]:
        """The patterns for the fields."""
        return self.patterns

    def rebuilt(self, inside: Sequence[Pattern]) -> PatternTuple:
        """Return this pattern with others inside."""
        return PatternTuple(inside, self.span)


def _check_parts(pattern: PatternConstructor | PatternTuple) -> None:
    force_setattr(pattern, "patterns", tuple(pattern.patterns or ()))
    for part in pattern.patterns:
        if not isinstance(cast("object", part), Pattern):
            raise IRTypeError(f"expected patterns in a pattern, got {kind_of(part)}")
    if pattern.depth > MAX_NESTING:
        raise SizeLimitError(
            f"expected patterns in each other at most {MAX_NESTING} deep; match what "
            "an inner one binds by a match of its own"
        )


@reflected(
    is_graph=True,
    scopes=1,
    structure=lambda clause: [clause.lhs.shape],
    lhs=Role.PATTERN,
    rhs=Role.CHILD,
)
class Clause(Node, frozen=True, eq=False):
    """An expression, for the values that a pattern matches; `checked_type_` is its."""

    namespace: ClassVar[str] = "relay"

    lhs: Pattern
    rhs: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, data=Role.CHILD, clauses=Role.CHILDREN)
class Match(Expr, frozen=True, eq=False):
    """The value of the first clause whose pattern matches `data`.

    Attributes:
        data: The value.
        clauses: The clauses; the first one that matches counts.
        complete: Whether some clause matches every value, which InferType checks.
    """

    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True
    span: Span | None = None
    checked_type_: Type | None = None

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            data: Expr,
            clauses: Sequence[Clause],
            complete: bool = True,
            span: Span | None = None,
            checked_type_: Type | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.clauses) is not tuple:
            force_setattr(self, "clauses", tuple(self.clauses))


__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "TypeData",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
