"""Kernels of one operator, made by templates, and what they should compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from parpass import tir
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    Result,
    Source,
    Template,
)
from parpass.relay.op.nn.conv import Conv1DAttrs, Conv2DAttrs, Conv3DAttrs
from parpass.target import Target
from parpass.tir.interpreter.evaluation import evaluate
from tests.support.target.compiled import PLAIN, compiled

# One with vectors of each length; code for it is run where the processor has them.
TARGETS = ("llvm", f"{PLAIN} -mcpu=x86-64-v3", PLAIN)


CONV_ATTRS = {1: Conv1DAttrs, 2: Conv2DAttrs, 3: Conv3DAttrs}
"""The attributes of convolutions, by the number of axes."""


class TemplateKernel:
    """A kernel of one operator: its result, and something added to each element.

    Args:
        template: Makes it.
        name: The operator.
        attrs: Its attributes.
        shapes: Those of its operands.
        dtype: That of operands, unless the attributes name another one for the result.
        is_computed: Whether operands are computed, and not in memory.
    """

    def __init__(
        self,
        template: Template,
        name: str,
        attrs: Attrs,
        *shapes: tuple[int, ...],
        dtype: str = "float32",
        is_computed: bool = False,
    ) -> None:
        self._template, self._attrs = template, attrs
        self._is_computed = is_computed
        self._op = Op.get(name)
        self.arrays = [_array(at, shape, dtype) for at, shape in enumerate(shapes)]
        self._result: Any = self._op.compute(attrs, *self.arrays)
        self._dtype = self._result.dtype.name  # that of the result
        self.arrays.append(_array(len(shapes), self._result.shape, self._dtype))

    def compute_again(self) -> None:
        """Have numpy compute the result, after operands were changed."""
        self._result = self._op.compute(self._attrs, *self.arrays[:-1])

    @property
    def expected(self) -> Any:
        """What numpy computes."""
        return self._result + self.arrays[-1]

    def function(self, target: str) -> tir.PrimFunc | None:
        """Return the loops; None where the template is for others."""
        buffers = [
            tir.decl_buffer(one.shape, one.dtype.name, f"A{at}")
            for at, one in enumerate([*self.arrays, self._result])
        ]
        *operands, more, result = buffers
        sources = [_source(one) for one in operands]
        if self._is_computed:
            sources = [one._replace(buffer=None) for one in sources]

        def store(indices: Indices, value: tir.PrimExpr) -> tir.Stmt:
            total = value + tir.BufferLoad(more, indices)
            return tir.BufferStore(result, total, indices)

        out = Result(self._result.shape, self._dtype)
        call = OpCall(self._attrs, sources, out, Target(target))
        body = self._template(call, store)
        return None if body is None else tir.PrimFunc(buffers, body)

    def check(self, *targets: str) -> None:
        """Run machine code for targets."""
        for target in targets:
            func = self.function(target)
            assert func is not None, target
            if not {*Target(target).features()} <= {*Target("llvm").features()}:
                continue  # the processor would stop at what it does not know
            result = self._unwritten()
            compiled(func, target)["main"](*self.arrays, result)
            self._check(result)

    def interpret(self, target: str = PLAIN) -> None:
        """Run the loops step by step, where each access is looked at."""
        func = self.function(target)
        assert func is not None
        result = self._unwritten()
        evaluate(func, [*self.arrays, result])
        self._check(result)

    def _unwritten(self) -> Any:
        is_int = np.issubdtype(self._dtype, np.integer)
        return np.full(self._result.shape, 77 if is_int else np.nan, self._dtype)

    def _check(self, result: Any) -> None:
        expected = self.expected
        digits = {"float32": 1e-5, "float64": 1e-12}.get(self._dtype, 0)
        largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0))
        np.testing.assert_allclose(result, expected, rtol=0, atol=digits * largest)


def _array(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):  # so large that sums of products wrap around
        ends = np.iinfo(dtype)
        return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def _source(buffer: tir.Buffer) -> Source:
    def at(indices: Indices) -> tir.PrimExpr:
        return tir.BufferLoad(buffer, indices)

    return Source(tuple(int(dim) for dim in buffer.shape), buffer.dtype, at, buffer)
