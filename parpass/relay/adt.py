"""Matches on algebraic data types: patterns, clauses, and the match expression.

A pattern is not an expression. A clause binds the variables of its pattern in its
expression, as a function binds its parameters; so it is a node that opens a scope, and
a match is a node whose children are a value and clauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError
from parpass.errors.core import describe_kind
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.node import FieldKind, Node, reflected
from parpass.ir.types import Type
from parpass.ir.types.type_structure import MAX_NESTING
from parpass.relay.expr import Expr, Var


class Pattern(Node, frozen=True, eq=False):
    """Base of patterns: the shape of a value, with variables for parts of it."""

    namespace: ClassVar[str] = "relay"

    @property
    def inside(self) -> tuple[Pattern, ...]:
        """The sub-patterns, for the parts of the value."""
        return ()

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables that it binds, from left to right."""
        return tuple([var for part in self.inside for var in part.variables])

    @property
    def depth(self) -> int:
        """The nesting depth of its sub-patterns."""
        return max([1 + part.depth for part in self.inside], default=0)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The structure of the pattern without names and types of variables."""
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
        """Return this pattern with other sub-patterns."""
        del inside
        return self


@reflected(is_graph=False)
class PatternWildcard(Pattern, frozen=True, eq=False):
    """Matches every value, and binds nothing."""

    span: Span | None = None


@reflected(is_graph=False, var=FieldKind.BINDING)
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


@reflected(is_graph=False, constructor=FieldKind.CHILD, patterns=FieldKind.CHILDREN)
class PatternConstructor(Pattern, frozen=True, eq=False):
    """Matches a constructor's value whose fields match the sub-patterns.

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
        """The patterns for the constructor's arguments."""
        return self.patterns

    @property
    def shape(self) -> tuple[Any, ...]:
        """The names of the type and the constructor, and the sub-patterns' shapes."""
        made = self.constructor
        names = (made.belong_to.name_hint, made.name_hint)
        return (*names, *(part.shape for part in self.patterns))

    def rebuilt(self, inside: Sequence[Pattern]) -> PatternConstructor:
        """Return this pattern with other sub-patterns."""
        return PatternConstructor(self.constructor, inside, self.span)


@reflected(is_graph=False, patterns=FieldKind.CHILDREN)
class PatternTuple(Pattern, frozen=True, eq=False):
    """Matches a tuple whose fields match the sub-patterns.

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
        """Return this pattern with other sub-patterns."""
        return PatternTuple(inside, self.span)


def _check_parts(pattern: PatternConstructor | PatternTuple) -> None:
    force_setattr(pattern, "patterns", tuple(pattern.patterns or ()))
    for part in pattern.patterns:
        if not isinstance(cast("object", part), Pattern):
            raise IRTypeError(
                f"expected patterns in a pattern, got {describe_kind(part)}"
            )
    if pattern.depth > MAX_NESTING:
        raise SizeLimitError(
            f"expected patterns nested at most {MAX_NESTING} deep; match the inner "
            "values in a separate match"
        )


@reflected(
    is_graph=True,
    scopes=("rhs",),
    structure=lambda clause: [clause.lhs.shape],
    lhs=FieldKind.PATTERN,
    rhs=FieldKind.CHILD,
)
class Clause(Node, frozen=True, eq=False):
    """A pattern and the expression for values that match it.

    `checked_type_` is the type of the expression.
    """

    namespace: ClassVar[str] = "relay"

    lhs: Pattern
    rhs: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, data=FieldKind.CHILD, clauses=FieldKind.CHILDREN)
class Match(Expr, frozen=True, eq=False):
    """The value of the first clause whose pattern matches `data`.

    Attributes:
        data: The value.
        clauses: The clauses; the first match wins.
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
