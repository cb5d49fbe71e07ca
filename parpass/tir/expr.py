"""Loop expressions: immutable nodes, under TVM's names and fields.

Constructors check dtypes as TVM's do, and compute nothing. A tuple is made of any
sequence, a constant of any number; a condition is a bool.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Node, Role, reflected
from parpass.ir.op_table import Op
from parpass.ir.prim_ty import PointerType, PrimType
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.ty import TupleType
from parpass.ir.type_structure import Type
from parpass.tir.binary_op import (
    check_bool,
)
from parpass.tir.data_type import checked, data_type
from parpass.tir.identity import restored, token_of
from parpass.tir.prim_expr import (
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    as_prim_expr,
    as_prim_exprs,
)


def convert_fields(node: Node, *fields: str) -> None:
    """Make expressions of numbers in the fields of a node that is being made."""
    for name in fields:
        value = getattr(node, name)
        if not isinstance(value, PrimExpr):
            force_setattr(node, name, as_prim_expr(value))


def set_dtype(node: Any, dtype: str) -> None:
    """Give a node that is being made its dtype."""
    if node.dtype != dtype:
        force_setattr(node, "dtype", dtype)


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


@reflected(is_graph=False, value=Role.CHILD)
class Cast(PrimExpr, frozen=True, eq=False):
    """A value in another dtype, of as many lanes."""

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


@reflected(is_graph=False, a=Role.CHILD, dtype=Role.DERIVED)
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
    condition=Role.CHILD,
    true_value=Role.CHILD,
    false_value=Role.CHILD,
    dtype=Role.DERIVED,
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


@reflected(is_graph=False, base=Role.CHILD, stride=Role.CHILD, dtype=Role.DERIVED)
class Ramp(PrimExpr, frozen=True, eq=False):
    """The vector `base, base + stride, base + 2 * stride, ...`."""

    base: Operand
    stride: Operand
    lanes: int
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "base", "stride")
        if self.stride.dtype != self.base.dtype:
            raise IRTypeError(
                f"mismatched types: expected base and stride of one dtype for Ramp, "
                f"got {self.base.dtype} and {self.stride.dtype}"
            )
        set_dtype(self, _vector(self, self.base, self.lanes))


@reflected(is_graph=False, value=Role.CHILD, dtype=Role.DERIVED)
class Broadcast(PrimExpr, frozen=True, eq=False):
    """A vector of one value, again and again."""

    value: Operand
    lanes: int
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        set_dtype(self, _vector(self, self.value, self.lanes))


def _vector(node: Ramp | Broadcast, one: PrimExpr, lanes: Any) -> str:
    if type(lanes) is not int:
        lanes = int(lanes)
        force_setattr(node, "lanes", lanes)
    of_one = data_type(one.dtype)
    if of_one.lanes != 1:
        raise IRTypeError(
            f"expected a scalar for {type(node).__name__}, got {one.dtype}"
        )
    if not 1 < lanes < 1 << 16:
        raise IRTypeError(
            f"expected 2 to 65535 lanes for {type(node).__name__}, got {lanes}"
        )
    return of_one.with_lanes(lanes)


@reflected(
    is_graph=False, vectors=Role.CHILDREN, indices=Role.CHILDREN, dtype=Role.DERIVED
)
class Shuffle(PrimExpr, frozen=True, eq=False):
    """A vector of lanes of other ones, by their numbers in all of these together."""

    vectors: Operands
    indices: Operands
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "vectors", as_prim_exprs(self.vectors))
        force_setattr(self, "indices", as_prim_exprs(self.indices))
        elements = {data_type(one.dtype).element for one in self.vectors}
        lanes = sum(data_type(one.dtype).lanes for one in self.vectors)
        if len(elements) != 1 or not 0 < len(self.indices) <= lanes:
            raise IRTypeError(
                "expected vectors of one dtype for Shuffle, and from 1 to as many "
                f"indices as they have lanes, got {sorted(elements)} and "
                f"{len(self.indices)} indices of {lanes} lanes"
            )
        (element,) = elements
        set_dtype(self, data_type(element).with_lanes(len(self.indices)))


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


def check_var(node: Node, var: Any) -> None:
    """Check that what stands for a variable of a node is one.

    Raises:
        IRTypeError: It is none.
    """
    if not isinstance(var, Var):
        raise IRTypeError(
            f"expected a tir.Var in {type(node).__name__}, got {type(var).__name__}"
        )


@reflected(is_graph=False, op=Role.CHILD, args=Role.CHILDREN)
class Call(PrimExpr, frozen=True, eq=False):
    """A call of an operator of the table, `tir.exp` or such, or of a global function.

    Args:
        dtype: That of the value; "void" where there is none.
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


@reflected(
    is_graph=False, buffer_var=Role.CHILD, index=Role.CHILD, predicate=Role.CHILD
)
class Load(PrimExpr, frozen=True, eq=False):
    """A value of memory: what a pointer has at an index, where the predicate holds."""

    dtype: str
    buffer_var: Var
    index: Operand
    predicate: Operand = cast("Any", None)
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.dtype != checked(self.dtype):
            force_setattr(self, "dtype", checked(self.dtype))
        convert_fields(self, "index")
        check_access(self, self.dtype)


def check_access(node: Any, dtype: str) -> None:
    """Check what memory is accessed, where and whether; give it a predicate.

    Raises:
        IRTypeError: The pointer is no variable, or the lanes do not go together.
    """
    lanes = data_type(dtype).lanes
    check_var(node, node.buffer_var)
    given = node.predicate
    predicate = const_true(lanes) if given is None else as_prim_expr(given)
    force_setattr(node, "predicate", predicate)
    pointer = node.buffer_var.type_annotation
    element = 1
    if isinstance(pointer, PointerType) and isinstance(pointer.element_type, PrimType):
        element = data_type(pointer.element_type.dtype).lanes
    of_index = data_type(node.index.dtype).lanes
    of_predicate = data_type(predicate.dtype).lanes
    if lanes not in (of_index, element * of_index) or (
        lanes not in (of_index, element * of_predicate)
    ):
        raise IRTypeError(
            f"expected an index and a predicate with the lanes of {dtype} for "
            f"{type(node).__name__}, got {node.index.dtype} and {predicate.dtype}"
        )


def const_true(lanes: int = 1, span: Span | None = None) -> PrimExpr:
    """Return `True`, or a vector of it."""
    true = IntImm("bool", 1, span)
    return true if lanes == 1 else Broadcast(true, lanes, span)
