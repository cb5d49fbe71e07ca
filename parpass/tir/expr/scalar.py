"""Scalar expressions: variables and their bindings, casts, selections, calls.

A variable is identified by its object: a function may use one that it does not bind,
and a pass may hold one of the program that it rewrites. So variables keep identity when
they are pickled: with a token, by which the process of origin, or one that has
unpickled it before, finds the object again; in other processes it is a new one. Nothing
is kept of a variable that is garbage.
"""

from __future__ import annotations

import enum
import itertools
import os
import secrets
import threading
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.global_var import GlobalVar
from parpass.ir.node import FieldKind, Node, reflected
from parpass.ir.op.op_table import Op
from parpass.ir.types import PointerType, PrimType, TupleType, Type
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr.binary_op import check_bool
from parpass.tir.expr.prim_expr import (
    EXPR_KINDS,
    Operand,
    Operands,
    PrimExpr,
    as_prim_expr,
    as_prim_exprs,
)

Token = tuple[bytes, int]

_tokens: WeakKeyDictionary[Any, Token] = WeakKeyDictionary()
_known: WeakValueDictionary[Token, Any] = WeakValueDictionary()
_numbers = itertools.count()


class _Origin:
    """The identifier of this process, and the lock under which tokens are added.

    A process that was forked from it has a new identifier, and a new lock.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.word = secrets.token_bytes(8)
        # Again by who holds it: a weak reference may be cleared meanwhile.
        self.lock = threading.RLock()


_origin = _Origin()
if hasattr(os, "register_at_fork"):  # elsewhere nothing forks
    os.register_at_fork(after_in_child=_origin.renew)


def token_of(node: Any) -> Token:
    """Return what stands for an object in bytes, always the same."""
    token = _tokens.get(node)
    if token is None:
        with _origin.lock:
            token = _tokens.get(node)
            if token is None:
                token = (_origin.word, next(_numbers))
                _known[token] = node
                _tokens[node] = token
    return token


def restored(token: Token, kind: type[Any], fields: tuple[Any, ...]) -> Any:
    """Return the object of a token, made of its fields where it is not known."""
    found = _known.get(token)
    if found is None:
        with _origin.lock:
            found = _known.get(token)
            if found is None:
                found = kind(*fields)
                _known[token] = found
                _tokens[found] = token
    return found


def convert_fields(node: Node, *fields: str) -> None:
    """Make expressions of numbers in the fields of a node that is being made."""
    for name in fields:
        value = getattr(node, name)
        if type(value) not in EXPR_KINDS:
            force_setattr(node, name, as_prim_expr(value))


def set_dtype(node: Any, dtype: str) -> None:
    """Give a node that is being made its dtype."""
    if node.dtype != dtype:
        force_setattr(node, "dtype", dtype)


@reflected(is_graph=False, is_variable=True, type_annotation=FieldKind.TYPE)
class Var(PrimExpr, frozen=True, eq=False, weakref=True):
    """A variable; two variables are the same only if they are the same object.

    Args:
        name: Its name, for readers.
        dtype: The dtype of its value, or a type, such as a pointer type;
            `type_annotation` is then that type.
    """

    name: str
    dtype: Any = "int32"
    span: Span | None = None
    type_annotation: Type | None = None

    def __post_init__(self) -> None:
        given = self.dtype
        if not isinstance(cast("object", self.name), str):
            raise IRTypeError(f"expected a string for a variable's name: {self.name!r}")
        if isinstance(given, Type):
            force_setattr(self, "type_annotation", given)
        if self.type_annotation is not None:
            force_setattr(self, "dtype", _dtype_of_type(self.type_annotation))
        elif checked(given) is not given:
            force_setattr(self, "dtype", checked(given))

    def __reduce__(self) -> tuple[Any, ...]:
        dtype = self.dtype if self.type_annotation is None else self.type_annotation
        return restored, (token_of(self), type(self), (self.name, dtype, self.span))

    @property
    def name_hint(self) -> str:
        """The name."""
        return self.name


@reflected(is_graph=False, is_variable=True, type_annotation=FieldKind.TYPE)
class SizeVar(Var, frozen=True, eq=False):
    """A variable for a size, which is never negative."""


@reflected(is_graph=False, dtype=FieldKind.DERIVED)
class AnyExpr(PrimExpr, frozen=True, eq=False):
    """An int32 that nothing is known of, such as a length in a shape; `tir.Any`.

    Each is one of its own, so the difference of two of them is not known either.
    """

    span: Span | None = None
    dtype: str = "int32"


def _dtype_of_type(typ: Type) -> str:
    if isinstance(typ, PrimType):
        return checked(typ.dtype)
    if isinstance(typ, PointerType):
        return "handle"
    if isinstance(typ, TupleType) and not typ.fields:
        return "void"
    raise IRTypeError(f"expected the type of a scalar or a pointer, got {typ}")


def type_of(expr: PrimExpr) -> Type:
    """Return the type of an expression: that of its dtype, or as annotated."""
    annotated = expr.type_annotation if isinstance(expr, Var) else None
    if annotated is not None:
        return annotated
    return TupleType(()) if expr.dtype == "void" else PrimType(expr.dtype)


def check_var(node: Node, var: Any) -> None:
    """Check that what stands for a variable of a node is one.

    Raises:
        IRTypeError: It is none.
    """
    if not isinstance(var, Var):
        raise IRTypeError(
            f"expected a tir.Var in {type(node).__name__}, got {type(var).__name__}"
        )


def check_bound(node: Node, var: Any, value: PrimExpr) -> None:
    """Check that what a node binds is a variable of the value's dtype.

    Raises:
        IRTypeError: It is none.
    """
    check_var(node, var)
    if var.dtype != value.dtype:
        raise IRTypeError(
            f"expected a value of {var.dtype} for variable '{var.name}' of "
            f"{type(node).__name__}, got {value.dtype}"
        )


@reflected(
    is_graph=False,
    scopes=("body",),
    var=FieldKind.BINDING,
    value=FieldKind.CHILD,
    body=FieldKind.CHILD,
    dtype=FieldKind.DERIVED,
)
class Let(PrimExpr, frozen=True, eq=False):
    """The value of `body`, in which a variable is bound to a value."""

    var: Var
    value: Operand
    body: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "value", "body")
        check_bound(self, self.var, self.value)
        set_dtype(self, self.body.dtype)


@reflected(is_graph=False, value=FieldKind.CHILD)
class Cast(PrimExpr, frozen=True, eq=False):
    """A value converted to another dtype with as many lanes."""

    dtype: str
    value: Operand
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        set_dtype(self, checked(self.dtype))
        if data_type(self.dtype).lanes != data_type(self.value.dtype).lanes:
            raise IRTypeError(
                f"expected a dtype with the lanes of {self.value.dtype} for a cast, "
                f"got {self.dtype}"
            )


@reflected(is_graph=False, a=FieldKind.CHILD, dtype=FieldKind.DERIVED)
class Not(PrimExpr, frozen=True, eq=False):
    """`not a`."""

    a: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "a")
        check_bool(self, self.a)
        set_dtype(self, self.a.dtype)


@reflected(
    is_graph=False,
    condition=FieldKind.CHILD,
    true_value=FieldKind.CHILD,
    false_value=FieldKind.CHILD,
    dtype=FieldKind.DERIVED,
)
class Select(PrimExpr, frozen=True, eq=False):
    """One of two values, both of which are evaluated."""

    condition: Operand
    true_value: Operand
    false_value: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "condition", "true_value", "false_value")
        check_bool(self, self.condition)
        found, lanes = self.true_value.dtype, data_type(self.condition.dtype).lanes
        if found != self.false_value.dtype:
            raise IRTypeError(
                f"mismatched types: expected values of one dtype for Select, got "
                f"{found} and {self.false_value.dtype}"
            )
        if lanes not in (1, data_type(found).lanes):
            raise IRTypeError(
                f"expected a condition of one lane or of those of {found}, got "
                f"{self.condition.dtype}"
            )
        set_dtype(self, found)


@reflected(is_graph=False, op=FieldKind.CHILD, args=FieldKind.CHILDREN)
class Call(PrimExpr, frozen=True, eq=False):
    """A call of an operator, such as `tir.exp`, or of a global function.

    Args:
        dtype: The dtype of the value; "void" if there is none.
        op: The operator, or its name.
        args: The arguments; strings become `StringImm`s.
    """

    dtype: str
    op: Any
    args: Operands
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.dtype != checked(self.dtype):
            force_setattr(self, "dtype", checked(self.dtype))
        op = self.op
        if isinstance(op, str):
            name = op if op.startswith("tir.") else f"tir.{op}"
            force_setattr(self, "op", Op.get(name))
        elif not isinstance(op, Op | GlobalVar):
            raise IRTypeError(
                "expected an operator, its name or a GlobalVar for a call, got "
                f"{type(op).__name__}"
            )
        force_setattr(self, "args", as_prim_exprs(self.args))


class CallEffectKind(enum.IntEnum):
    """The effect of a call, by TVM's names and numbers; a greater one forbids more."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6

    Opaque = 3  # TVM's name for what may do anything
