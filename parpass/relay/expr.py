"""Relay's expressions: immutable nodes, under TVM's names and fields.

A node is never changed in place. A rewrite makes new nodes and shares the old ones,
and gives back the very same object where nothing changed. Inferred types live in the
nodes too (`checked_type`); a rebuilt node has none until InferType runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from msgspec import structs
from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError, UntypedError
from parpass.relay.dict_attrs import DictAttrs
from parpass.relay.ndarray import NDArray
from parpass.relay.node import Node, Role, reflected
from parpass.relay.ty import FuncType, TensorType, Type, TypeVar
from parpass.relay.type_functor import is_complete


class Expr(Node, frozen=True, eq=False):
    """The base of expressions; Python's operators build calls of Relay's.

    An expression is pickled like any object, so that what it shares with the values
    beside it stays shared; the price is that `pickle` recurses, and refuses one that is
    very deep. Modules are pickled, and `save_json` takes anything, at any depth.
    """

    @property
    def checked_type(self) -> Type:
        """The type that InferType found.

        Raises:
            UntypedError: InferType has not run on this node.
        """
        found: Type | None = getattr(self, "checked_type_", None)
        if found is None:
            raise UntypedError(
                f"this {type(self).__name__} has no checked type yet; run "
                "relay.transform.InferType() on its module first"
            )
        return found

    def astype(self, dtype: str) -> Call:
        """Return this expression cast to `dtype`."""
        from parpass.relay.op import cast as cast_op

        return cast_op(self, dtype)

    def __call__(self, *args: Expr) -> Call:
        """Return a call of this expression."""
        return Call(self, args)

    def __neg__(self) -> Call:
        return _call_op("negative", self)

    def __add__(self, other: Operand) -> Call:
        return _call_op("add", self, other)

    def __radd__(self, other: Operand) -> Call:
        return _call_op("add", other, self)

    def __sub__(self, other: Operand) -> Call:
        return _call_op("subtract", self, other)

    def __rsub__(self, other: Operand) -> Call:
        return _call_op("subtract", other, self)

    def __mul__(self, other: Operand) -> Call:
        return _call_op("multiply", self, other)

    def __rmul__(self, other: Operand) -> Call:
        return _call_op("multiply", other, self)

    def __truediv__(self, other: Operand) -> Call:
        return _call_op("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Call:
        return _call_op("divide", other, self)

    def __lt__(self, other: Operand) -> Call:
        return _call_op("less", self, other)

    def __le__(self, other: Operand) -> Call:
        return _call_op("less_equal", self, other)

    def __gt__(self, other: Operand) -> Call:
        return _call_op("greater", self, other)

    def __ge__(self, other: Operand) -> Call:
        return _call_op("greater_equal", self, other)

    def __str__(self) -> str:
        from parpass.relay.text.printer import astext

        return astext(self, show_meta_data=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._brief()})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("", self._brief())]

    def _brief(self) -> str:
        from parpass.relay.text.brief import brief

        return brief(self)

    def __bool__(self) -> NoReturn:
        raise IRTypeError(
            "a Relay expression has no truth value in Python; build relay.If, or "
            "compare nodes with 'is', 'same_as' or 'structural_equal'"
        )


@reflected(is_graph=False, type_annotation=Role.TYPE)
class Var(Expr, frozen=True, eq=False):
    """A local variable; two of them are the same only if they are the same object."""

    name_hint: str
    type_annotation: Type | None = None
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=False)
class GlobalVar(Expr, frozen=True, eq=False):
    """The name of a function of a module."""

    name_hint: str
    span: Span | None = None
    checked_type_: Type | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        from parpass.relay.wire import global_var_named

        return global_var_named, (self.name_hint,)


@reflected(is_graph=False)
class Constant(Expr, frozen=True, eq=False):
    """A tensor known now; its type needs no inference."""

    data: NDArray
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.data) is not NDArray:
            force_setattr(self, "data", NDArray(cast("npt.ArrayLike", self.data)))
        if self.checked_type_ is None:
            found = TensorType(self.data.shape, self.data.dtype)
            force_setattr(self, "checked_type_", found)


@reflected(is_graph=True, op=Role.CHILD, args=Role.CHILDREN, type_args=Role.TYPE)
class Call(Expr, frozen=True, eq=False):
    """A call of an operator, a global function or a closure."""

    op: Expr
    args: tuple[Expr, ...]
    attrs: Any = None
    type_args: tuple[Type, ...] = ()
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            force_setattr(self, "args", tuple(self.args))
        if type(self.type_args) is not tuple:
            force_setattr(self, "type_args", tuple(self.type_args or ()))


@reflected(is_graph=True, var=Role.BINDING, value=Role.CHILD, body=Role.CHILD)
class Let(Expr, frozen=True, eq=False):
    """`let var = value; body`."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(
    is_graph=True, cond=Role.CHILD, true_branch=Role.CHILD, false_branch=Role.CHILD
)
class If(Expr, frozen=True, eq=False):
    """The value of one of two branches; `cond` is a scalar bool."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(is_graph=True, fields=Role.CHILDREN)
class Tuple(Expr, frozen=True, eq=False):
    """A tuple of expressions."""

    fields: tuple[Expr, ...]
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            force_setattr(self, "fields", tuple(self.fields))

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]


@reflected(is_graph=False, tuple_value=Role.CHILD)
class TupleGetItem(Expr, frozen=True, eq=False):
    """One field of a tuple, counted from 0."""

    tuple_value: Expr
    index: int
    span: Span | None = None
    checked_type_: Type | None = None


@reflected(
    is_graph=True,
    params=Role.BINDINGS,
    body=Role.CHILD,
    ret_type=Role.TYPE,
    type_params=Role.TYPE,
)
class Function(Expr, frozen=True, eq=False):
    """A function; in a module under a global name, or a closure in an expression."""

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, Any] | None = None
    span: Span | None = None
    checked_type_: Type | None = None

    def __post_init__(self) -> None:
        if type(self.params) is not tuple:
            force_setattr(self, "params", tuple(self.params))
        if type(self.type_params) is not tuple:
            force_setattr(self, "type_params", tuple(self.type_params or ()))
        if self.attrs is not None and type(self.attrs) is not DictAttrs:
            force_setattr(self, "attrs", DictAttrs(self.attrs))
        if not self.attrs:
            force_setattr(self, "attrs", None)

    def with_attr(self, key: str, value: Any) -> Function:
        """Return this function with one attribute more."""
        return _with(self, attrs=DictAttrs({**(self.attrs or {}), key: value}))

    def without_attr(self, key: str) -> Function:
        """Return this function without one attribute."""
        rest = {name: v for name, v in (self.attrs or {}).items() if name != key}
        return _with(self, attrs=DictAttrs(rest))

    def has_nonzero_attr(self, key: str) -> bool:
        """Return whether the function has an attribute that is not zero or empty."""
        return bool(self.attrs and self.attrs.get(key))

    @property
    def annotated_type(self) -> FuncType | None:
        """The type as annotated; None where an annotation is missing or incomplete."""
        parts = [*(param.type_annotation for param in self.params), self.ret_type]
        known = [part for part in parts if part is not None and is_complete(part)]
        if len(known) != len(parts):
            return None
        return FuncType(tuple(known[:-1]), known[-1], self.type_params)


def _with(function: Function, **changes: Any) -> Function:
    """Return a function with other fields, its inferred type dropped."""
    return structs.replace(function, checked_type_=None, **changes)


Operand = Expr | int | float | bool


class TupleWrapper:
    """An expression of tuple type that unpacks in Python: `a, b = relay.split(x, 2)`.

    Args:
        tuple_value: The expression.
        size: How many fields its tuple has.
    """

    def __init__(self, tuple_value: Expr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        """Return the expression itself."""
        return self.tuple_value

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < self.size:
            raise IndexError(f"tuple index {index} is out of range of {self.size}")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[index] for index in range(self.size))


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """Return a variable, annotated by a type, or by a shape and a dtype.

    A string for a type is the dtype of a scalar.
    """
    if type_annotation is not None and shape is not None:
        raise IRTypeError("expected a type or a shape, got both")
    if shape is not None:
        type_annotation = TensorType(tuple(shape), dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(
    value: npt.ArrayLike | NDArray,
    dtype: str | TensorType | None = None,
    span: Span | None = None,
) -> Constant:
    """Return a constant.

    Without a dtype a Python int becomes int32 and a float float32, as in TVM; an array
    keeps its own. A tensor type stands for its dtype.
    """
    if isinstance(value, NDArray):
        return Constant(value, span)
    given = dtype.dtype if isinstance(dtype, TensorType) else dtype
    array = np.asarray(value, dtype=given)
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        narrow = {"int64": "int32", "float64": "float32"}.get(array.dtype.name)
        array = array.astype(narrow) if narrow else array
    if array.dtype.kind not in "biufV":  # V: bfloat16 and such
        raise IRTypeError(f"expected numbers for a constant, got {value!r}")
    return Constant(NDArray(array), span)


def as_expr(value: object) -> Expr:
    """Return an expression as it is, a Python number as a constant.

    Raises:
        IRTypeError: The value is neither.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float | np.generic | np.ndarray):
        return const(cast("npt.ArrayLike", value))
    raise IRTypeError(
        f"expected a Relay expression or a number, got {type(value).__name__}"
    )


def _call_op(name: str, *args: Operand) -> Call:
    from parpass.relay.op.registry import Op

    return Call(Op.get(name), tuple(as_expr(arg) for arg in args))


__all__ = [
    "Call",
    "Constant",
    "DictAttrs",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Operand",
    "Tuple",
    "TupleGetItem",
    "TupleWrapper",
    "Var",
    "as_expr",
    "const",
    "var",
]
