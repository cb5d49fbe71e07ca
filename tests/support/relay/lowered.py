"""Calls of operators as kernels, run on the values that the calls have."""

from __future__ import annotations

from typing import Any

import numpy as np

from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.expr import Constant, Expr, Function, TupleWrapper, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.type_inference.infer import infer_type
from parpass.runtime.dtypes import numpy_dtype
from parpass.target import Target
from parpass.tir import PrimFunc
from parpass.tir.interpreter.evaluation import evaluate
from tests.support.relay.op.calls import Array

TARGET = Target("llvm")


def as_function(built: Expr | TupleWrapper) -> tuple[Function, list[Array]]:
    """Return a function of a call's tensors, and their values."""
    expr = built.astuple() if isinstance(built, TupleWrapper) else built
    lifted = _Lifted()
    body = lifted.visit(expr)
    function = Function(tuple(lifted.params), body, None, (), {"Primitive": 1})
    return infer_type(function), lifted.values


class _Lifted(ExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self.params: list[Var] = []
        self.values: list[Array] = []

    def visit_constant(self, const: Constant) -> Expr:
        self.params.append(Var(f"p{len(self.params)}", const.checked_type))
        self.values.append(const.data.numpy())
        return self.params[-1]


def lowered(built: Expr | TupleWrapper) -> tuple[PrimFunc, list[Array]]:
    """Return the kernel of a call, and the values of its operands."""
    function, values = as_function(built)
    return kernel(function, "main", TARGET), values


def results_for(func: PrimFunc) -> list[Array]:
    """Return arrays for the results of a kernel, of values that it has to overwrite."""
    count = func.attributes["num_outputs"]
    found: list[Any] = []
    for param in func.params[-count:]:
        buffer = func.buffer_map[param]
        shape = tuple(dim.value for dim in buffer.shape)
        found.append(np.full(shape, 77).astype(numpy_dtype(buffer.dtype)))
    return found


def interpreted(built: Expr | TupleWrapper) -> list[Array]:
    """Return what the interpreter of loop programs computes for a call."""
    func, values = lowered(built)
    results = results_for(func)
    with np.errstate(all="ignore"):
        evaluate(func, [np.array(one) for one in values] + results)
    return results
