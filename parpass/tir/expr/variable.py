"""Variables of loop programs, and what binds one in an expression."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Node, Role, reflected
from parpass.ir.types.prim_ty import PointerType, PrimType
from parpass.ir.types.ty import TupleType
from parpass.ir.types.type_structure import Type
from parpass.tir.data_type import checked
from parpass.tir.expr.fields import convert_fields, set_dtype
from parpass.tir.identity import restored, token_of
from parpass.tir.prim_expr import (
    Operand,
    PrimExpr,
)


@reflected(is_graph=False, is_variable=True, type_annotation=Role.TYPE)
class Var(PrimExpr, frozen=True, eq=False):
    """A variable; two of them are the same only if they are the same object.

    Args:
        name: Its name, for readers.
        dtype: That of its value, or a type, such as that of a pointer, which
            `type_annotation` is then.
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


@reflected(is_graph=False, is_variable=True, type_annotation=Role.TYPE)
class SizeVar(Var, frozen=True, eq=False):
    """A variable that is a size: it is never negative."""


@reflected(is_graph=False, dtype=Role.DERIVED)
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
    scopes=1,
    var=Role.BINDING,
    value=Role.CHILD,
    body=Role.CHILD,
    dtype=Role.DERIVED,
)
class Let(PrimExpr, frozen=True, eq=False):
    """The value of `body`, in which a variable has a value."""

    var: Var
    value: Operand
    body: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "value", "body")
        check_bound(self, self.var, self.value)
        set_dtype(self, self.body.dtype)
