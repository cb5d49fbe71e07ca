"""Relay's expressions: immutable nodes, under TVM's names and fields.

A node is never changed in place. A rewrite makes new nodes and shares the old ones, and
returns one and the same object where nothing changed. Inferred types are stored in the
nodes too (`checked_type`); a rebuilt node has none until InferType runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt
from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.attrs import DictAttrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.node import FieldKind, reflected
from parpass.ir.op.op_table import Op
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types import FuncType, TensorType, Type, TypeVar
from parpass.ir.types.type_structure import is_complete
from parpass.runtime.ndarray import NDArray

Expr = RelayExpr

_MAX_CALLEE_DEPTH = 1_000  # to be freed, it takes 100 kB of the C stack


@reflected(is_graph=False, is_variable=True, type_annotation=FieldKind.TYPE)
class Var(Expr, frozen=True, eq=False, gc=False):
    """A local variable; two of them are equal only if they are one object.

    An annotated one is typed at construction, so that InferType leaves the object as it
    is.
    """

    name_hint: str
    type_annotation: Type | None = None
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        stated = self.type_annotation
        if stated is None or self.checked_type_ is not None:
            return
        if type(stated) is TensorType or is_complete(stated):
            force_setattr(self, "checked_type_", stated)

    @property
    def vid(self) -> VarId:
        """The identity that distinguishes this variable from others of its name."""
        return VarId(self)


class VarId:
    """The identity of a variable, which TVM separates from the variable.

    Attributes:
        var: The variable.
    """

    __slots__ = ("var",)

    def __init__(self, var: Var) -> None:
        self.var = var

    @property
    def name_hint(self) -> str:
        """The variable's name."""
        return self.var.name_hint

    def same_as(self, other: object) -> bool:
        """Return whether this is the identity of one variable with `other`."""
        return isinstance(other, VarId) and other.var is self.var

    __eq__ = same_as

    def __hash__(self) -> int:
        return hash(self.var)

    def __repr__(self) -> str:
        return f"VarId({self.name_hint})"


@reflected(is_graph=False)
class Constant(Expr, frozen=True, eq=False, gc=False):
    """A tensor known at compile time; its type needs no inference."""

    data: NDArray
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.data) is not NDArray:
            force_setattr(self, "data", NDArray(cast("npt.ArrayLike", self.data)))
        if self.checked_type_ is None:
            found = TensorType(self.data.shape, self.data.dtype)
            force_setattr(self, "checked_type_", found)


def _structure_of_call(call: Call) -> list[Any]:
    # The type arguments of an operator follow from its arguments.
    return [call.attrs, () if isinstance(call.op, Op) else call.type_args]


@reflected(
    is_graph=True,
    structure=_structure_of_call,
    op=FieldKind.CHILD,
    args=FieldKind.CHILDREN,
    type_args=FieldKind.TYPE,
)
class Call(Expr, frozen=True, eq=False, gc=False):
    """A call of an operator, a global function or a closure.

    Raises:
        SizeLimitError: Calls of the results of calls are nested more than 1,000 deep.
    """

    op: Expr
    args: tuple[Expr, ...]
    attrs: Any = None
    type_args: tuple[Type, ...] = ()
    span: Span | None = None
    checked_type_: Type | None = None

    if TYPE_CHECKING:  # sequences become tuples below

        def __init__(
            self,
            op: Expr,
            args: Sequence[Expr],
            attrs: Any = None,
            type_args: Sequence[Type] | None = (),
            span: Span | None = None,
            checked_type_: Type | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.op) is Call:
            _check_callee_depth(self.op)
        if type(self.args) is not tuple:
            force_setattr(self, "args", _as_tuple(self.args, "args"))
        if type(self.type_args) is not tuple:
            force_setattr(self, "type_args", tuple(self.type_args or ()))

    def __bool__(self) -> bool:
        # As an object an expression would be true; `if x < y:` means something else.
        if isinstance(self.op, Op) and self.op.name in _COMPARISONS:
            raise IRTypeError(
                f"a call of '{self.op.name}' has no truth value in Python before it is "
                "computed; build relay.If for a branch, and relay.logical_and for a "
                "chain such as x < y < z"
            )
        return True


def _check_callee_depth(callee: Expr) -> None:
    """Bound the one chain of calls that no tuple interrupts, and that none comes near.

    Raises:
        SizeLimitError: The chain is too long to be freed safely; see `Node`.
    """
    depth = 1
    while type(callee) is Call:
        callee, depth = callee.op, depth + 1
        if depth > _MAX_CALLEE_DEPTH:
            raise SizeLimitError(
                "calls of the results of calls are nested more than "
                f"{_MAX_CALLEE_DEPTH:,} deep; bind some of them by a let"
            )


# What Python's comparison operators build.
_COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal"})


def _check_bound(bound: object, by: str) -> None:
    """Refuse to bind anything but a variable.

    A rewrite attempts that where it replaces every occurrence of a variable.
    """
    if not isinstance(bound, Var):
        raise IRTypeError(
            f"expected a variable for {by} to bind, got {bound!r:.100}; if a rewrite "
            "put it there, the variable may be bound twice, which InferType reports"
        )


@reflected(
    is_graph=True,
    scopes=("body",),
    var=FieldKind.BINDING,
    value=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class Let(Expr, frozen=True, eq=False):
    """`let var = value; body`."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.var) is not Var:
            _check_bound(self.var, "a `let`")


@reflected(
    is_graph=True,
    scopes=("true_branch", "false_branch"),
    cond=FieldKind.CHILD,
    true_branch=FieldKind.CHILD,
    false_branch=FieldKind.CHILD,
)
class If(Expr, frozen=True, eq=False):
    """The value of one of two branches; `cond` is a scalar bool."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, fields=FieldKind.CHILDREN)
class Tuple(Expr, frozen=True, eq=False, gc=False):
    """A tuple of expressions."""

    fields: tuple[Expr, ...]
    span: Span | None = None
    checked_type_: Type | None = None

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            fields: Sequence[Expr],
            span: Span | None = None,
            checked_type_: Type | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            force_setattr(self, "fields", _as_tuple(self.fields, "fields"))

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]


@reflected(is_graph=False, tuple_value=FieldKind.CHILD)
class TupleGetItem(Expr, frozen=True, eq=False):
    """One field of a tuple, counted from 0."""

    tuple_value: Expr
    index: int
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, value=FieldKind.CHILD)
class RefCreate(Expr, frozen=True, eq=False):
    """Creates a reference to a value, which may be read and written."""

    value: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, ref=FieldKind.CHILD)
class RefRead(Expr, frozen=True, eq=False):
    """The current value of a reference."""

    ref: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, ref=FieldKind.CHILD, value=FieldKind.CHILD)
class RefWrite(Expr, frozen=True, eq=False):
    """Sets the value of a reference; its own value is the empty tuple."""

    ref: Expr
    value: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(
    is_graph=True,
    scopes=("body",),
    params=FieldKind.BINDINGS,
    body=FieldKind.CHILD,
    ret_type=FieldKind.TYPE,
    type_params=FieldKind.TYPE_BINDINGS,
)
class Function(BaseFunc, frozen=True, eq=False):
    """A function; in a module under a global name, or a closure in an expression."""

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, Any] | None = None
    span: Span | None = None
    checked_type_: Type | None = None

    if TYPE_CHECKING:  # sequences become tuples below

        def __init__(
            self,
            params: Sequence[Var],
            body: Expr,
            ret_type: Type | None = None,
            type_params: Sequence[TypeVar] | None = (),
            attrs: Mapping[str, Any] | None = None,
            span: Span | None = None,
            checked_type_: Type | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.params) is not tuple:
            force_setattr(self, "params", _as_tuple(self.params, "params"))
        for param in self.params:
            if type(param) is not Var:
                _check_bound(param, "a function")
        if type(self.type_params) is not tuple:
            force_setattr(self, "type_params", tuple(self.type_params or ()))
        if self.attrs is not None and type(self.attrs) is not DictAttrs:
            force_setattr(self, "attrs", DictAttrs(self.attrs))
        if not self.attrs:
            force_setattr(self, "attrs", None)

    @property
    def annotated_type(self) -> FuncType | None:
        """The annotated type; None if an annotation is missing or incomplete."""
        parts = [*(param.type_annotation for param in self.params), self.ret_type]
        known = [part for part in parts if part is not None and is_complete(part)]
        if len(known) != len(parts):
            return None
        return FuncType(tuple(known[:-1]), known[-1], self.type_params)


def _as_tuple(given: Any, field: str) -> tuple[Any, ...]:
    # An expression may be iterable, but is never meant as the sequence of its parts.
    if isinstance(given, Expr) or not isinstance(given, Iterable):
        raise IRTypeError(
            f"expected a sequence of expressions for {field}, got "
            f"{type(cast('object', given)).__name__}; try {field}=[...]"
        )
    return tuple(cast("Iterable[Any]", given))
