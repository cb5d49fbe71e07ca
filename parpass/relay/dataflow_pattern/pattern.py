"""Patterns of dataflow: what a stretch of program looks like, apart from its details.

A pattern is built as the expression that it matches would be, with `wildcard()` where
anything may stand. Patterns are compared by identity: one that is used twice in
another matches the same expression at both places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.ir.types import Dim, Type
from parpass.relay.expr import Expr
from parpass.relay.text.brief import brief

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
]

Patterns = tuple["DFPattern", ...]


class DFPattern:
    """The base of patterns; immutable, except for wildcards that are redirected.

    Calling a pattern gives the pattern of a call: `is_op("add")(x, y)`, or
    `is_op("concatenate")(None)` for any arguments. `+`, `-`, `*` and `/` give calls of
    these operators, and `|` matches either of two patterns.
    """

    # The fields that hold patterns, or sequences of such.
    _parts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self._parts:
            value = getattr(self, name)
            if isinstance(value, list | tuple):
                several = cast("Sequence[object]", value)
                value = tuple(_checked(part, name, self) for part in several)
                object.__setattr__(self, name, value)
            elif value is not None:
                _checked(value, name, self)

    @property
    def inputs(self) -> Patterns:
        """The patterns that this one consists of."""
        found: list[DFPattern] = []
        for name in self._parts:
            value = getattr(self, name)
            if isinstance(value, tuple):
                found += cast("Patterns", value)
            elif value is not None:
                found.append(value)
        return tuple(found)

    def __call__(self, *args: DFPattern | None) -> CallPattern:
        """Return the pattern of a call of this one."""
        if args == (None,):
            return CallPattern(self, None)
        return CallPattern(self, cast("tuple[DFPattern, ...]", args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return _call_of("add", self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return _call_of("subtract", self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return _call_of("multiply", self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return _call_of("divide", self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Return this pattern, restricted to expressions with these attributes."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Type) -> TypePattern:
        """Return this pattern, restricted to expressions of this type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern, restricted to tensors of this dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Dim]) -> ShapePattern:
        """Return this pattern, restricted to tensors of this shape."""
        return ShapePattern(self, shape)

    def optional(
        self, option_constructor: Callable[[DFPattern], DFPattern]
    ) -> AltPattern:
        """Return a pattern of this one, with or without the pattern built around it."""
        return self | option_constructor(self)

    def dominates(
        self, parent: DFPattern, path: DFPattern | None = None
    ) -> DominatorPattern:
        """Return this pattern, where every path to it comes from `parent`."""
        return DominatorPattern(parent, path or WildcardPattern(), self)

    if TYPE_CHECKING:  # These two are made of patterns, and the package sets them.

        def match(self, /, expr: Expr) -> bool:
            """Return whether an expression looks like this pattern."""
            ...

        def partition(
            self,
            /,
            expr: Expr,
            attrs: Mapping[str, Any] | None = None,
            check: Callable[[Any], bool] = bool,
        ) -> Expr:
            """Return an expression with matches put into functions."""
            ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _call_of(name: str, *args: DFPattern) -> CallPattern:
    return ExprPattern(Op.get(name))(*args)


def _checked(value: object, part: str, whole: DFPattern) -> DFPattern:
    if isinstance(value, DFPattern):
        return value
    hint = "; wrap an expression in is_expr(...)" if isinstance(value, Expr) else ""
    where = f"'{part}' of {type(whole).__name__}"
    raise IRTypeError(f"expected a pattern for {where}, got {value!r}{hint}")


def _listed(patterns: Sequence[DFPattern] | None) -> str:
    return "..." if patterns is None else ", ".join(map(str, patterns))


class WildcardPattern(DFPattern):
    """Matches anything; after redirection, whatever another pattern matches."""

    def __init__(self) -> None:
        self.redirected_to: DFPattern | None = None

    _parts = ("redirected_to",)

    def redirect_to(self, pat: DFPattern) -> None:
        """Match like `pat`, which may contain this wildcard, for recursion."""
        self.redirected_to = _checked(pat, "pat", self)

    def __str__(self) -> str:
        return "*"


@dataclass(frozen=True, eq=False, repr=False)
class ExprPattern(DFPattern):
    """Matches expressions structurally equal to a given one, such as an operator."""

    expr: Expr

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.expr), Expr):
            raise IRTypeError(f"expected an expression to match, got {self.expr!r}")

    def __str__(self) -> str:
        return self.expr.name if isinstance(self.expr, Op) else brief(self.expr)


@dataclass(frozen=True, eq=False, repr=False)
class VarPattern(DFPattern):
    """Matches a variable, optionally by name."""

    name: str = ""

    def __str__(self) -> str:
        return f"%{self.name or '*'}"


class ConstantPattern(DFPattern):
    """Matches a constant."""

    def __str__(self) -> str:
        return "constant"


@dataclass(frozen=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """Matches a call; arguments None match any.

    The arguments of `add` and `multiply` match in either order, and products and
    quotients however they are associated: `a * b / c` matches `a * (b / c)`.
    """

    op: DFPattern
    args: Sequence[DFPattern] | None
    _parts = ("op", "args")

    def __str__(self) -> str:
        return f"{self.op}({_listed(self.args)})"


@dataclass(frozen=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """Matches a function; parameters None match any."""

    params: Sequence[DFPattern] | None
    body: DFPattern
    _parts = ("params", "body")

    def __str__(self) -> str:
        return f"fn ({_listed(self.params)}) {{ {self.body} }}"


@dataclass(frozen=True, eq=False, repr=False)
class TuplePattern(DFPattern):
    """Matches a tuple; fields None match any."""

    fields: Sequence[DFPattern] | None
    _parts = ("fields",)

    def __getitem__(self, index: int) -> DFPattern:
        return (self.fields or ())[index]

    def __len__(self) -> int:
        return len(self.fields or ())

    def __bool__(self) -> bool:
        return True  # the pattern of the empty tuple, too

    def __str__(self) -> str:
        return f"({_listed(self.fields)})"


@dataclass(frozen=True, eq=False, repr=False)
class TupleGetItemPattern(DFPattern):
    """Matches a field of a tuple; index None matches any."""

    tuple: DFPattern
    index: int | None = None
    _parts = ("tuple",)

    def __str__(self) -> str:
        return f"{self.tuple}.{'*' if self.index is None else self.index}"


@dataclass(frozen=True, eq=False, repr=False)
class IfPattern(DFPattern):
    """Matches an `if`."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern
    _parts = ("cond", "true_branch", "false_branch")

    def __str__(self) -> str:
        return (
            f"if ({self.cond}) {{ {self.true_branch} }} else {{ {self.false_branch} }}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LetPattern(DFPattern):
    """Matches a `let`."""

    var: DFPattern
    value: DFPattern
    body: DFPattern
    _parts = ("var", "value", "body")

    def __str__(self) -> str:
        return f"let {self.var} = {self.value}; {self.body}"


@dataclass(frozen=True, eq=False, repr=False)
class AltPattern(DFPattern):
    """Matches either of two patterns; tries the left one first."""

    left: DFPattern
    right: DFPattern
    _parts = ("left", "right")

    def __str__(self) -> str:
        return f"({self.left} | {self.right})"


@dataclass(frozen=True, eq=False, repr=False)
class AttrPattern(DFPattern):
    """Matches like another pattern, with certain attributes.

    These are the attributes of an operator (such as `TOpPattern`), a call or a
    function.
    """

    pattern: DFPattern
    attrs: Mapping[str, Any]
    _parts = ("pattern",)

    def __str__(self) -> str:
        return f"{self.pattern} with {dict(self.attrs)}"


@dataclass(frozen=True, eq=False, repr=False)
class TypePattern(DFPattern):
    """Matches like another pattern, if the expression has a type."""

    pattern: DFPattern
    type: Type
    _parts = ("pattern",)

    def __str__(self) -> str:
        return f"{self.pattern} of type {self.type}"


@dataclass(frozen=True, eq=False, repr=False)
class DataTypePattern(DFPattern):
    """Matches like another pattern, if the expression is a tensor of a dtype."""

    pattern: DFPattern
    dtype: str
    _parts = ("pattern",)

    def __str__(self) -> str:
        return f"{self.pattern} of dtype {self.dtype}"


@dataclass(frozen=True, eq=False, repr=False)
class ShapePattern(DFPattern):
    """Matches like another pattern, if the expression is a tensor of a shape."""

    pattern: DFPattern
    shape: Sequence[Dim]
    _parts = ("pattern",)

    def __str__(self) -> str:
        return f"{self.pattern} of shape {tuple(self.shape)}"


@dataclass(frozen=True, eq=False, repr=False)
class DominatorPattern(DFPattern):
    """Matches `child` if every path to it leads back to one `parent`.

    In between, every expression matches `path`, and the parent is used nowhere else: a
    diamond with sides of any length.
    """

    parent: DFPattern
    path: DFPattern
    child: DFPattern
    _parts = ("parent", "path", "child")

    def __str__(self) -> str:
        return f"dominates({self.parent}, {self.path}, {self.child})"


def sub_patterns(root: DFPattern) -> list[DFPattern]:
    """Return a pattern and those that it is made of, each once, inputs first."""
    order: list[DFPattern] = []
    entered: set[DFPattern] = set()
    stack: list[tuple[DFPattern, bool]] = [(root, False)]
    while stack:
        pattern, is_done = stack.pop()
        if is_done:
            order.append(pattern)
        elif pattern not in entered:
            entered.add(pattern)
            stack.append((pattern, True))
            stack += [(below, False) for below in reversed(pattern.inputs)]
    return order
