"""Half floats and bfloat16 mean one thing: interpreted, rewritten and compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parpass as tvm
from parpass import IRModule, relay
from parpass.relay import nn
from parpass.relay.expr import Call, Expr, Function, Tuple
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import (
    InferType,
    SimplifyExpr,
    SimplifyInference,
    default_pipeline,
)
from parpass.runtime.dtypes import float_range, numpy_dtype
from parpass.runtime.graph_executor import GraphModule
from parpass.transform import Pass, Sequential
from tests.support.relay.lowered import as_function
from tests.support.relay.op.calls import Array
from tests.support.relay.op.dtypes import rounded, with_floats
from tests.support.relay.op.rules_of_lowering import GENERATED, SUMS, TOLERANCE, meaning

LAST_DIGIT = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
SUMMING = sorted(name for name in GENERATED if TOLERANCE.get(name) == SUMS)

# Their squares and sums are infinite as half floats; of bfloat16 digits are lost.
ROWS = [[40000, 40000, 40000, 100], [65504, -65504, 100, 0], [1024, 1028, 3e-7, -1031]]

Build = Callable[[Callable[..., Expr]], Expr]
"""Returns a program, given what makes a tensor of a shape of these rows' numbers."""


def _affine(build: Callable[..., Any], *more: int) -> Build:
    return lambda x: build(x(1, 3, 2, 2), x(3, at=8, by=1e-3), x(3, at=4), *more)


BUILT: dict[str, Build] = {
    "batch_norm": lambda x: nn.batch_norm(
        x(1, 3, 2, 2), x(3, at=8), x(3, at=4), x(3), x(3, at=8, by=1, positive=True)
    )[0],
    "batch_norm, cancelled": lambda x: nn.batch_norm(
        x(1, 3, 2, 2), x(3), x(3, at=8, by=1e-3), x(3), x(3, by=0)
    )[0],
    "layer_norm": lambda x: nn.layer_norm(x(3, 4), x(4, at=8, by=1e-3), x(4, at=8)),
    "instance_norm": _affine(nn.instance_norm),
    "group_norm": _affine(nn.group_norm, 3),
    "l2_normalize": lambda x: nn.l2_normalize(x(3, 4), 1e-12, 1),
    "l2_normalize of little": lambda x: nn.l2_normalize(x(3, 4, by=1e-9), 1e-12, 1),
    "lrn": lambda x: nn.lrn(x(1, 3, 2, 2), 3, alpha=1e-6),
    "softmax": lambda x: nn.softmax(x(3, 4)),
    "log_softmax": lambda x: nn.log_softmax(x(3, 4, by=0.5)),
    "sum": lambda x: relay.sum(x(3, 4), 1),
    "mean": lambda x: relay.mean(x(3, 4), 1),
    "prod": lambda x: relay.prod(x(3, 4, by=1e-2), 1),
    "variance": lambda x: relay.variance(x(3, 4, by=1e-2), 1, with_mean=x(3, 1)),
    "cumsum": lambda x: relay.cumsum(x(3, 4), 1),
    "dense": lambda x: nn.dense(x(3, 4), x(2, 4, at=5, by=1e-2)),
    "batch_matmul": lambda x: nn.batch_matmul(x(1, 3, 4), x(1, 2, 4, at=3, by=1e-2)),
    "conv2d": lambda x: nn.conv2d(x(1, 3, 2, 2), x(3, 3, 2, 2, at=2, by=1e-2)),
    "conv2d, scaled": lambda x: relay.multiply(
        nn.conv2d(x(1, 3, 2, 2, by=1e-2), x(3, 3, 1, 1, at=2, by=1e-7)),
        x(3, 1, 1, at=8, by=1e-1),
    ),
    "avg_pool2d": lambda x: nn.avg_pool2d(x(1, 3, 2, 2), (2, 2)),
    "global_avg_pool2d": lambda x: nn.global_avg_pool2d(x(1, 3, 2, 2)),
    "adaptive_avg_pool2d": lambda x: nn.adaptive_avg_pool2d(x(1, 3, 2, 2), 1),
    "cross_entropy_with_logits": lambda x: nn.cross_entropy_with_logits(
        x(3, 4), x(3, 4, at=1, by=1e-3)
    ),
}


class Program:
    """A program in a dtype, or all in one, on numbers that another dtype has.

    Attributes:
        mod: The program, typed.
        values: What it is run on, by parameter.
    """

    def __init__(self, names: Sequence[str], dtype: str, values_of: str = "") -> None:
        self.values: dict[str, Array] = {}
        self._params: list[relay.Var] = []
        self._dtype, self._values_of = dtype, values_of or dtype
        fields = tuple(BUILT[name](self._tensor) for name in names)
        body = Tuple(fields)
        self.mod = InferType()(IRModule.from_expr(Function(self._params, body)))

    def _tensor(
        self, *shape: int, at: int = 0, by: float = 1.0, positive: bool = False
    ) -> Expr:
        numbers = np.resize(np.roll(np.ravel(ROWS), -at), shape) * by
        values = rounded(np.abs(numbers) if positive else numbers, self._values_of)
        param = relay.var(f"x{len(self.values)}", shape=shape, dtype=self._dtype)
        self.values[param.name_hint] = values.astype(numpy_dtype(self._dtype))
        self._params.append(param)
        return param

    def interpreted(self, mod: IRModule | None = None) -> list[Array]:
        """Return what the interpreter computes, for the program as it was rewritten."""
        mod = mod or self.mod
        return [*evaluate(mod["main"], [*self.values.values()], mod)]

    def compiled(self) -> list[Array]:
        """Return what machine code computes."""
        with tvm.transform.PassContext(opt_level=3):
            library = relay.build(self.mod, target="llvm", workers=0, cache=False)
        assert not library.numpy_functions
        run = GraphModule(library["default"](tvm.cpu()))
        for name, one in self.values.items():
            run.set_input(name, one)
        run.run()
        return [run.get_output(at).numpy() for at in range(len(BUILT))]


def assert_near(found: Sequence[Array], names: Sequence[str], dtype: str) -> None:
    """Check that results are the exact ones, rounded by each operator."""
    least, _ = float_range(dtype)
    exact = Program(names, "float64", dtype).interpreted()
    for name, one, other in zip(names, found, exact, strict=True):
        assert one.dtype == numpy_dtype(dtype)
        last = LAST_DIGIT[dtype] * (2 if "scaled" in name else 1)
        with np.errstate(over="ignore"):
            wanted = rounded(other, dtype).astype("float64")
        np.testing.assert_allclose(
            one.astype("float64"), wanted, last, last * least, err_msg=name
        )


REWRITES: dict[str, Sequence[Pass]] = {
    "not at all": [],
    "SimplifyInference": [SimplifyInference()],
    "SimplifyExpr": [SimplifyInference(), SimplifyExpr(exact=False)],
    "the pipeline": [default_pipeline(3)],
}


@pytest.mark.parametrize("dtype", LAST_DIGIT)
@pytest.mark.parametrize("rewrite", REWRITES)
def test_what_reduces_or_normalises_is_exact_but_for_one_rounding(
    rewrite: str, dtype: str
) -> None:
    names = [*BUILT]
    program = Program(names, dtype)
    passes = Sequential([InferType(), *REWRITES[rewrite]])
    found = program.interpreted(passes(program.mod))
    assert_near(found, names, dtype)


@pytest.mark.slow
def test_machine_code_of_what_reduces_or_normalises_is_as_exact() -> None:
    names, dtype = [*BUILT], "float16"
    found = Program(names, dtype).compiled()
    assert_near(found, names, dtype)


@st.composite
def narrow_calls(draw: st.DrawFn) -> Call:
    """Return a call of an operator that sums, on narrow floats of any size."""
    built = GENERATED[draw(st.sampled_from(SUMMING))](draw)
    dtype, by = draw(st.sampled_from(sorted(LAST_DIGIT))), draw(st.integers(-25, 15))
    most = float_range("float16")[1]
    return with_floats(
        built, lambda values: rounded(np.clip(values * 2.0**by, -most, most), dtype)
    )


@pytest.mark.slow
@given(narrow_calls())
def test_the_pipeline_computes_narrow_floats_as_operators_do(call: Call) -> None:
    function, values = as_function(call)
    mod = default_pipeline(3)(IRModule.from_expr(function.without_attr("Primitive")))
    found = cast("Array | tuple[Array, ...]", evaluate(mod["main"], values, mod))
    results = found if isinstance(found, tuple) else (found,)
    for one, other in zip(results, meaning(call), strict=True):
        assert one.dtype == other.dtype
        last = LAST_DIGIT.get(one.dtype.name, 1e-5)
        near = within_half_floats(other)
        largest = np.abs(near[np.isfinite(near)]).max(initial=0)
        error = 2.0**-20 * largest + 2.0**-24
        np.testing.assert_allclose(within_half_floats(one), near, last, error)


def within_half_floats(values: Array) -> Array:
    """Return numbers in which what may be rounded to an infinity is one."""
    wide, most = values.astype("float64"), float_range("float16")[1] * (1 - 2.0**-9)
    return np.where(np.abs(wide) > most, np.copysign(np.inf, wide), wide)
