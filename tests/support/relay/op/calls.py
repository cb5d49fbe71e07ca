"""Calls of operators on random constants, their values, and their types."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Constant, Expr, Tuple, TupleWrapper, const
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op import Op

Array = npt.NDArray[Any]


def floats(*shape: int, dtype: str = "float32", seed: int = 0) -> Constant:
    """Return normally distributed floats."""
    return const(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def ints(*shape: int, low: int = -9, high: int = 10, seed: int = 0) -> Constant:
    """Return int32 from `low` up to `high`."""
    values = np.random.default_rng(seed).integers(low, high, shape)
    return const(values.astype("int32"))


def bools(*shape: int, seed: int = 0) -> Constant:
    """Return random bools."""
    return const(np.random.default_rng(seed).integers(0, 2, shape).astype(bool))


def array(constant: Expr) -> Array:
    """Return the values of a constant."""
    assert isinstance(constant, Constant)
    return constant.data.numpy()


def call_of(built: Expr | TupleWrapper) -> Call:
    """Return a call without the wrapper that unpacks its result."""
    call = built.astuple() if isinstance(built, TupleWrapper) else built
    assert isinstance(call, Call)
    return call


def name_of(built: Expr | TupleWrapper) -> str:
    """Return the name of the operator that is called."""
    op = call_of(built).op
    assert isinstance(op, Op)
    return op.name


def value(expr: Expr | TupleWrapper) -> Any:
    """Return the value of an expression."""
    return evaluate(expr.astuple() if isinstance(expr, TupleWrapper) else expr)


def type_of(result: Any) -> Type:
    """Return the type that a value has."""
    if isinstance(result, tuple):
        return TupleType(
            tuple(type_of(field) for field in cast("tuple[Any, ...]", result))
        )
    assert isinstance(result, np.ndarray)
    tensor = cast("Array", result)
    return TensorType(tensor.shape, tensor.dtype.name)


def related(expr: Expr | TupleWrapper) -> Type:
    """Return the type that an operator's relation gives to a call on constants."""
    call = expr.astuple() if isinstance(expr, TupleWrapper) else expr
    assert isinstance(call, Call)
    assert isinstance(call.op, Op)
    return call.op.relation([argument_type(arg) for arg in call.args], call.attrs)


def argument_type(arg: Expr) -> Type:
    """Return the type of an argument: a constant, or a tuple of them."""
    if isinstance(arg, Tuple):
        return TupleType(tuple(argument_type(field) for field in arg.fields))
    if isinstance(arg, Constant):
        return arg.checked_type
    return type_of(value(arg))
