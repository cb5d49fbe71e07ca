"""Evaluation of operators on constants while a program is compiled, within limits.

`value_of` converts constant expressions to numpy arrays, `constant_of` back.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from parpass.diagnostic import Span
from parpass.errors import EvaluationError
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.expr import Call, Constant, Expr, Tuple
from parpass.relay.functor import ExprVisitor
from parpass.relay.interpreter.op_value import evaluate_call
from parpass.relay.interpreter.values import type_of_value
from parpass.relay.op.dyn.counterpart import COUNTERPARTS
from parpass.relay.op.transform.grid import arange_length
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.ndarray import NDArray
from parpass.transform import PassContext

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


class ConstantChecker(ExprVisitor):
    """Tells constants, and tuples of such, from other expressions."""

    def __init__(self) -> None:
        super().__init__()
        self._constant: dict[Expr, bool] = {}

    def check(self, expr: Expr) -> bool:
        """Return whether an expression is a constant."""
        if expr not in self._constant:
            self.visit(expr)
        return self._constant.get(expr, False)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the fields of a tuple; nothing else can make a constant."""
        return expr.fields if isinstance(expr, Tuple) else ()

    def visit_tuple(self, tup: Tuple) -> None:
        """Note whether the fields of a tuple are constants."""
        self._constant[tup] = all(map(self.check, tup.fields))

    def visit_default(self, expr: Expr) -> None:
        """Note a constant."""
        if is_simple_constant(expr):
            self._constant[expr] = True


def is_simple_constant(expr: Expr) -> bool:
    """Return whether this is one tensor, which may be annotated by `on_device`."""
    return isinstance(without_device(expr), Constant)


def without_device(expr: Expr) -> Expr:
    """Return what an `on_device` annotation is put on, else the expression itself."""
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        return expr.args[0] if expr.op.name == "on_device" else expr
    return expr


def with_device_of(annotated: Expr, expr: Expr) -> Expr:
    """Return `expr` with the `on_device` annotation of another, if that has one."""
    if without_device(annotated) is annotated:
        return expr
    call = cast("Call", annotated)
    return Call(call.op, (expr,), call.attrs, span=call.span)


def value_of(expr: Expr) -> Any:
    """Return a constant as an array, a tuple of constants as a tuple of arrays."""
    known: dict[Expr, Any] = {}

    def visit(expr: Expr) -> Any:
        if expr not in known:
            plain = without_device(expr)
            known[expr] = (
                tuple(map(visit, plain.fields))
                if isinstance(plain, Tuple)
                else cast("Constant", plain).data.numpy()
            )
        return known[expr]

    return visit(expr)


def constant_of(value: Any, span: Span | None) -> Expr:
    """Return an array as a constant, a tuple of arrays as a tuple of constants."""
    known: dict[int, Expr] = {}

    def visit(value: Any) -> Expr:
        if not isinstance(value, tuple):
            return Constant(NDArray.owning(value), span)
        fields = cast("tuple[Any, ...]", value)
        if id(fields) not in known:
            known[id(fields)] = Tuple(tuple(map(visit, fields)), span)
        return known[id(fields)]

    return visit(value)


MAX_BYTES_OPTION = "relay.FoldConstant.max_bytes"
MAX_BYTES = 2**29

# Beside that, what a function has may be replaced so often: weights are transposed,
# scaled, laid out anew.
_REPLACED = 8

_MAX_NESTING = 16  # of tuples; operators take one level

# Their results repeat one element and take no memory.
_REPEATING = frozenset({"full", "full_like", "ones_like", "zeros_like"})


class Evaluator:
    """Evaluates calls on constants of one expression; a context manager.

    What results take together is limited before they are computed, so that a short
    program does not fill the memory. From the first evaluation until it is left, native
    libraries use one thread, so that results are equal to the bit wherever it runs.

    Args:
        root: The expression.
        max_bytes: How many bytes the results may have, beside eight times those of the
            constants that the expression has. What repeats one element takes none, but
            is counted where it is computed with.
    """

    def __init__(self, root: Expr, max_bytes: int = MAX_BYTES) -> None:
        self._root: Expr | None = root
        self._left = max_bytes
        self._stack = contextlib.ExitStack()
        self._limited = False

    @classmethod
    def of(cls, root: Expr, ctx: PassContext) -> Self:
        """Return the evaluator that the settings ask for."""
        return cls(root, ctx.config.get(MAX_BYTES_OPTION, MAX_BYTES))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def evaluate(
        self,
        op: Op,
        attrs: Any,
        args: Sequence[Expr],
        span: Span | None = None,
        typ: Type | None = None,
    ) -> Expr:
        """Return the value of a call as a constant, or a tuple of constants.

        Args:
            op: The operator.
            attrs: The attributes of the call.
            args: Constants, and tuples of them.
            span: The place of the result.
            typ: The type of the call, if it is known.

        Raises:
            EvaluationError: The operator cannot be evaluated on them, or what it gives
                is too large.
        """
        self._charge(op, attrs, args, typ)
        if not self._limited:
            self._limited = True
            self._stack.enter_context(_native_threads().limit(limits=1))
        value = evaluate_call(op, attrs, [value_of(arg) for arg in args])
        return constant_of(value, span)

    def _charge(
        self, op: Op, attrs: Any, args: Sequence[Expr], typ: Type | None
    ) -> None:
        known = static_tensor(typ)
        result = _result_bytes(op, attrs, args) if known is None else _bytes(known)
        if op.name.removeprefix("dyn.") in _REPEATING:
            return
        cost = result + sum(map(_repeated, args))
        if cost > self._left and self._root is not None:
            self._left += _REPLACED * _stored(self._root)
            self._root = None
        if cost > self._left:
            raise EvaluationError(
                f"operator '{op.name}' is not evaluated: that takes {cost:,} bytes, "
                f"and {self._left:,} are left for this function; option "
                f"'{MAX_BYTES_OPTION}' allows more"
            )
        self._left -= cost


def _result_bytes(op: Op, attrs: Any, args: Sequence[Expr]) -> int:
    """Return how many bytes a result has, 0 where there is no telling."""
    types = [_type_of(arg) for arg in args]
    try:
        counterpart = COUNTERPARTS.get(op.name)
        if counterpart is not None:  # of a shape that the values say
            call, rest = counterpart.static_call(attrs, [value_of(arg) for arg in args])
            op, attrs = cast("Op", call.op), call.attrs
            types = [type_of_value(one) for one in rest]
        found = op.relation(types, attrs)
        if op.name == "arange":  # of a length that the values alone tell
            bounds = [value_of(arg).item() for arg in args]
            found = TensorType((arange_length(*bounds),), attrs.dtype)
        elif op.name == "argwhere":  # a row for each element at most
            data = cast("TensorType", types[0]).concrete_shape
            found = TensorType((*data, len(data)), cast("TensorType", found).dtype)
        return _bytes(found)
    except Exception as error:
        raise EvaluationError(
            f"operator '{op.name}' cannot be evaluated: {error}"
        ) from error


def _type_of(arg: Expr, nesting: int = 0) -> Type:
    arg = without_device(arg)
    if not isinstance(arg, Tuple):
        return cast("Constant", arg).checked_type
    if nesting == _MAX_NESTING:
        raise EvaluationError(f"tuples are nested more than {_MAX_NESTING} deep")
    return TupleType(tuple(_type_of(field, nesting + 1) for field in arg.fields))


def _bytes(found: Type) -> int:
    if isinstance(found, TupleType):
        return sum(map(_bytes, found.fields))
    if not isinstance(found, TensorType):
        return 0
    dims = [dim for dim in found.shape if isinstance(dim, int)]
    known = len(dims) == len(found.shape)
    return math.prod(dims) * numpy_dtype(found.dtype).itemsize if known else 0


def _repeated(arg: Expr) -> int:
    """Return how many bytes an argument has that takes no memory so far."""
    arg = without_device(arg)
    if isinstance(arg, Tuple):
        return sum(map(_repeated, arg.fields))
    data = cast("Constant", arg).data
    return data.nbytes if data.is_uniform else 0


def _stored(root: Expr) -> int:
    """Return how many bytes of memory the constants of an expression take."""
    found = [node.data for node in post_order(root) if isinstance(node, Constant)]
    # Several constants may have the same array.
    sizes = {id(data): data.nbytes for data in found if not data.is_uniform}
    return sum(sizes.values())


@functools.cache
def _native_threads() -> ThreadpoolController:
    # Once, because the search for libraries takes milliseconds, and here, because
    # the import takes more. Those of numpy are loaded by now.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
