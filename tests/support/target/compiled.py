"""Compiled functions, and whether they do what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parpass import IRModule, tir
from parpass.runtime import Module
from parpass.runtime.dtypes import numpy_dtype
from parpass.target.build_library import linked, lowering
from parpass.tir.interpreter.evaluation import evaluate
from parpass.transform import PassContext
from tests.support.tir.values import MAX_STEPS, arguments

# Vectors of lanes, each computed by itself: no processor's own speciality.
PLAIN = "llvm -mtriple=x86_64-unknown-linux-gnu"


def compiled(func: tir.PrimFunc, target: Any = None, **config: Any) -> Module:
    """Return a function as machine code, made here."""
    with PassContext(config=config):
        return linked(lowering(target)(IRModule({"main": func})))


def assert_same_by_machine_code(func: tir.PrimFunc, target: Any = None) -> None:
    """Run a function by the interpreter and by the processor; compare to the bit."""
    expected, got = arguments(func), arguments(func)
    value = evaluate(func, expected, max_steps=MAX_STEPS)
    found = compiled(func, target)["main"](*got)
    np.testing.assert_array_equal(found, value)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


class Elementwise:
    """Expressions of the elements of arrays, computed in two ways.

    Args:
        exprs: From operands to expressions.
        dtypes: Those of the operands.
    """

    def __init__(self, exprs: Sequence[Callable[..., Any]], *dtypes: str) -> None:
        n, i = tir.SizeVar("n"), tir.Var("i")
        operands = [
            tir.decl_buffer((n,), dtype, f"A{at}") for at, dtype in enumerate(dtypes)
        ]
        given = [tir.BufferLoad(one, [i]) for one in operands]
        values = [expr(*given) for expr in exprs]
        self._dtypes = [one.dtype for one in values]
        results = [
            tir.decl_buffer((n,), dtype, f"B{at}")
            for at, dtype in enumerate(self._dtypes)
        ]
        stores = [
            tir.BufferStore(one, value, [i])
            for one, value in zip(results, values, strict=True)
        ]
        loop = tir.For(i, 0, n, tir.ForKind.SERIAL, tir.stmt_seq(*stores))
        self._func = tir.PrimFunc((*operands, *results), loop)

    def by_machine_code(self, *arrays: Any, target: Any = None) -> list[Any]:
        """Return what the processor computes, an array for each expression."""
        found = self._results(arrays)
        compiled(self._func, target)["main"](*arrays, *found)
        return found

    def by_interpreter(self, *arrays: Any) -> list[Any]:
        """Return what the interpreter does."""
        found = self._results(arrays)
        evaluate(self._func, [*arrays, *found])
        return found

    def _results(self, arrays: Sequence[Any]) -> list[Any]:
        return [np.zeros(arrays[0].shape, numpy_dtype(dtype)) for dtype in self._dtypes]


def assert_same_elements(exprs: Sequence[Callable[..., Any]], *arrays: Any) -> None:
    """Compute expressions of elements in both ways, and compare to the bit."""
    made = Elementwise(exprs, *(array.dtype.name for array in arrays))
    with np.errstate(all="ignore"):
        found, expected = made.by_machine_code(*arrays), made.by_interpreter(*arrays)
    for at, both in enumerate(zip(found, expected, strict=True)):
        one, other = both
        assert one.dtype == other.dtype
        if one.dtype.name == "bfloat16":  # of which numpy knows no NaN
            one, other = one.astype("float32"), other.astype("float32")
        np.testing.assert_array_equal(one, other, f"expression {at}")
