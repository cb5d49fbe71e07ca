"""The base of expressions of loop programs, what Python's operators mean, constants."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.dialect import dialect_of
from parpass.ir.node import FieldKind, Node, reflected
from parpass.tir.data_type import COMMON_INTS, checked, data_type, int_range


class ExprOp:
    """Python's operators on expressions; numbers become constants.

    `a == b` and `a != b` are expressions. As a truth value, they say whether `a` and
    `b` are the same object.
    """

    __slots__ = ()

    namespace: ClassVar[str] = "tir"

    def __add__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("add", self, other)

    def __radd__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("add", other, self)

    def __sub__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("sub", self, other)

    def __rsub__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("sub", other, self)

    def __mul__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("mul", self, other)

    def __rmul__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("mul", other, self)

    def __truediv__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("truediv", self, other)

    def __rtruediv__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("truediv", other, self)

    def __floordiv__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("floordiv", other, self)

    def __mod__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("floormod", self, other)

    def __rmod__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("floormod", other, self)

    def __neg__(self) -> PrimExpr:
        return dialect_of(self).operator("neg", self)

    def __lshift__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("left_shift", self, other)

    def __rlshift__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("left_shift", other, self)

    def __rshift__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("right_shift", self, other)

    def __rrshift__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("right_shift", other, self)

    def __and__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_and", self, other)

    def __rand__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_and", other, self)

    def __or__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_or", self, other)

    def __ror__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_or", other, self)

    def __xor__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("bitwise_xor", other, self)

    def __invert__(self) -> PrimExpr:
        return dialect_of(self).operator("bitwise_not", self)

    def __lt__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("less", self, other)

    def __le__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("less_equal", self, other)

    def __gt__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("greater", self, other)

    def __ge__(self, other: Any) -> PrimExpr:
        return dialect_of(self).operator("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return EqualOp(self, other)

    def __ne__(self, other: object) -> Any:
        return NotEqualOp(self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise _NoTruthError(
            "a loop expression has no truth value in Python: for 'and', 'or' and "
            "'not' write tir.all, tir.any and tir.Not; for 'if' build tir.IfThenElse "
            "or tir.if_then_else"
        )

    def equal(self, other: Any, span: Span | None = None) -> PrimExpr:
        """Return the comparison of two expressions, as an expression."""
        return dialect_of(self).operator("equal", self, other, span)

    def astype(self, dtype: str, span: Span | None = None) -> PrimExpr:
        """Return this expression cast to a dtype."""
        return dialect_of(self).operator("cast", self, dtype, span)


class _NoTruthError(IRTypeError, ValueError):
    """An expression was asked for its truth value."""


class EqualOp(ExprOp):
    """The result of `a == b`: an expression; as a bool, whether they are identical."""

    __slots__ = ("a", "b", "span")

    operator: ClassVar[str] = "equal"

    def __init__(self, a: Any, b: Any, span: Span | None = None) -> None:
        self.a, self.b, self.span = a, b, span

    def asobject(self) -> PrimExpr:
        """Return the comparison as an expression."""
        return dialect_of(self).operator(self.operator, self.a, self.b, self.span)

    def __bool__(self) -> bool:
        return self.a is self.b

    __hash__ = ExprOp.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.a!r}, {self.b!r})"


class NotEqualOp(EqualOp):
    """The result of `a != b`: an expression; as a bool, whether they are distinct."""

    __slots__ = ()

    operator: ClassVar[str] = "not_equal"

    def __bool__(self) -> bool:
        return self.a is not self.b

    __hash__ = ExprOp.__hash__


# Every class of loop expressions. To look one up takes a third of the time of
# `isinstance`, which asks the metaclass that nodes have; and it is asked for each
# operand of each node that is made.
EXPR_KINDS: set[type] = set()


class PrimExpr(ExprOp, Node, frozen=True, eq=False):
    """The base of loop expressions: scalars, short vectors and pointers.

    Attributes:
        dtype: The dtype of the value, with its lanes: `int32`, `float32x4`, `handle`.
    """

    namespace: ClassVar[str] = "tir"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        EXPR_KINDS.add(cls)

    __hash__ = ExprOp.__hash__

    if TYPE_CHECKING:
        # What there is depends on the kind, which who builds an expression by an
        # operator does not know: a constant may come of it.
        def __getattr__(self, name: str) -> Any: ...


# The type of a field that has a PrimExpr, and may be given a number or what else
# `as_prim_expr` takes; of one that has a tuple of them, and may be given any sequence.
Operand: TypeAlias = Any
Operands: TypeAlias = Any


@reflected(is_graph=False)
class IntImm(PrimExpr, frozen=True, eq=False):
    """An int or bool constant.

    Raises:
        IRTypeError: The dtype is not one of ints, or cannot hold the value.
    """

    dtype: str
    value: int
    span: Span | None = None

    def __post_init__(self) -> None:
        if type(self.value) is int and self.value in COMMON_INTS.get(self.dtype, ()):
            return
        dtype, value = checked(self.dtype), self.value
        if type(value) is not int:
            value = _int(value, dtype)
            force_setattr(self, "value", value)
        if dtype is not self.dtype:
            force_setattr(self, "dtype", dtype)
        kind = data_type(dtype)
        if not kind.is_integral or kind.lanes != 1:
            raise IRTypeError(
                f"expected a scalar dtype of ints for {value}, got {dtype}"
            )
        if value not in int_range(dtype):
            raise IRTypeError(f"expected a value that {dtype} has, got {value}")

    def __reduce__(self) -> tuple[Any, ...]:
        if _shared_ints.get((self.dtype, self.value)) is self:
            return shared_int, (self.dtype, self.value)
        return type(self), (self.dtype, self.value, self.span)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> Any:
        compared = EqualOp(self, other)
        return compared.asobject() if _is_constant(other) else compared

    def __ne__(self, other: object) -> Any:
        compared = NotEqualOp(self, other)
        return compared.asobject() if _is_constant(other) else compared

    __hash__ = ExprOp.__hash__


_SHARED_INTS = range(-64, 1025)
_SHARED_DTYPES = {"bool", "int32", "int64"}
_shared_ints: dict[tuple[str, int], IntImm] = {}


def shared_int(dtype: str, value: int) -> IntImm:
    """Return a constant without a span: for a small one always the same object.

    It is the same object in other processes, too, so that a traversal that visits each
    object once visits as many of them there.

    Args:
        dtype: The full name, such as `int32`.
        value: A value of the dtype.
    """
    found = _shared_ints.get((dtype, value))
    if found is None:
        found = IntImm(dtype, value)
        if value in _SHARED_INTS and dtype in _SHARED_DTYPES:
            return _shared_ints.setdefault((dtype, value), found)
    return found


def _is_constant(value: object) -> bool:
    return isinstance(value, int | float | np.number | IntImm | FloatImm)


def _int(value: Any, dtype: str) -> int:
    if isinstance(value, int | np.integer | np.bool_ | IntImm):
        return int(cast("int", value))
    raise IRTypeError(
        f"expected an int for a constant of {dtype}, got {type(value).__name__}"
    )


def _float(value: Any) -> float:
    if not isinstance(value, str | bytes):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise IRTypeError(f"expected a number for a constant of floats, got {value!r:.40}")


_COMMON_FLOATS = {"float16", "float32", "float64"}


@reflected(is_graph=False)
class FloatImm(PrimExpr, frozen=True, eq=False):
    """A float constant; it stands for the nearest value of its dtype.

    Raises:
        IRTypeError: The dtype is not one of floats, or the value is not a number.
    """

    dtype: str
    value: float
    span: Span | None = None

    def __post_init__(self) -> None:
        if type(self.value) is float and self.dtype in _COMMON_FLOATS:
            return
        dtype = checked(self.dtype)
        if dtype is not self.dtype:
            force_setattr(self, "dtype", dtype)
        kind = data_type(dtype)
        if not kind.is_floating or kind.lanes != 1:
            raise IRTypeError(
                f"expected a scalar dtype of floats for {self.value}, got {dtype}"
            )
        if type(self.value) is not float:
            force_setattr(self, "value", _float(self.value))

    def __float__(self) -> float:
        return self.value

    __hash__ = ExprOp.__hash__


@reflected(is_graph=False, dtype=FieldKind.DERIVED)
class StringImm(PrimExpr, frozen=True, eq=False):
    """A string, such as the name of an external function."""

    value: str
    span: Span | None = None
    dtype: str = "handle"

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.value), str):
            raise IRTypeError(f"expected a string, got {type(self.value).__name__}")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, str | StringImm):
            return self.value == (other if isinstance(other, str) else other.value)
        return EqualOp(self, other)

    def __ne__(self, other: object) -> Any:
        if isinstance(other, str | StringImm):
            return self.value != (other if isinstance(other, str) else other.value)
        return NotEqualOp(self, other)

    __hash__ = ExprOp.__hash__


_INT32 = int_range("int32")


def as_prim_expr(value: Any) -> PrimExpr:
    """Return an expression unchanged, and a Python number or string as a constant.

    An int becomes an int32, or an int64 if it is too large; a float becomes a float32,
    a bool a bool. An object with `asobject`, such as `a == b`, determines the
    expression itself.

    Raises:
        IRTypeError: The value is none of these.
    """
    if type(value) in EXPR_KINDS:
        return value
    if isinstance(value, np.generic):
        value = cast("np.generic[Any]", value).item()
    if isinstance(value, bool):
        return shared_int("bool", int(value))
    if isinstance(value, int):
        return shared_int("int32" if value in _INT32 else "int64", int(value))
    if isinstance(value, float):
        return FloatImm("float32", value)
    if isinstance(value, str):
        return StringImm(value)
    as_object = getattr(value, "asobject", None)
    if as_object is None:
        raise IRTypeError(
            f"expected a loop expression or a number, got {type(value).__name__}"
        )
    return as_object()


def as_prim_exprs(values: Any) -> tuple[PrimExpr, ...]:
    """Return several expressions, or one, as a tuple; see `as_prim_expr`."""
    if isinstance(values, tuple | list):
        return tuple([as_prim_expr(one) for one in cast("list[Any]", values)])
    return (as_prim_expr(values),)
