"""Floats mean one thing: to the interpreter, after each pass, and in machine code.

Every operator of elements, and programs that rewriting rules match, are computed of all
pairs of zeros, subnormals, infinities, NaN and the largest floats. Results are the
same to the bit, or stand in a table of exceptions with the reason.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import IRModule, relay
from parpass.ir.types import TensorType
from parpass.relay import nn
from parpass.relay.expr import Constant, Expr, Function, Tuple, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op.tensor import elementwise
from parpass.relay.transform import InferType, default_pipeline
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.simplify import simplify_expr
from parpass.relay.transform.simplify.peephole import Peephole
from parpass.runtime.dtypes import computed_in, float_range, numpy_dtype
from parpass.runtime.graph_executor import GraphModule
from parpass.transform import Pass
from tests.support.cells import at_times
from tests.support.relay.op.calls import Array
from tests.support.relay.op.rules_of_lowering import LAST_DIGIT, TOLERANCE
from tests.support.special_floats import FLOATS, assert_same_bits, pairs
from tests.support.target.compiled import PLAIN

PAGE = Path(__file__).parents[2] / "docs" / "optimisation-levels.md"

Build = Callable[[Expr, Expr, "Constants"], Expr]
"""Returns a program of two tensors, and what makes constants of their dtype."""
Constants = Callable[[float], Constant]

ARITHMETIC = ("add", "subtract", "multiply", "divide")
VALUES = (0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan)
# With some values beside them: their code is long.
OTHERS = ("power", "floor_divide", "floor_mod", "mod")
FEW = (0.0, -0.0, 0.5)
INTS = ("bitwise", "logical", "left_shift", "right_shift")


def operators() -> Iterator[tuple[str, Build]]:
    """Yield a call of each operator of elements that takes floats."""
    for name in elementwise.__all__:
        if name.startswith(INTS) or name == "clip":
            continue
        build = getattr(relay, name)
        parameters = inspect.signature(build).parameters.values()
        count = sum(one.default is one.empty for one in parameters)
        yield name, functools.partial(_called, build, count)
    for low, high in ((-1, 2), (0.0, 6.0), (-0.0, 0.0), (-np.inf, -0.0)):
        yield (
            f"clip {low}..{high}",
            lambda x, y, c, ends=(low, high): relay.clip(x, *ends),
        )
    for dtype in ("int8", "uint8", "int32", "int64", "bool", *FLOATS):
        yield f"cast {dtype}", lambda x, y, c, dtype=dtype: relay.cast(x, dtype)


def _called(
    build: Callable[..., Expr], count: int, x: Expr, y: Expr, _: Constants
) -> Expr:
    return build(*(x, y, relay.subtract(y, x))[:count])


def activations() -> Iterator[tuple[str, Build]]:
    yield "relu", lambda x, y, c: nn.relu(x)
    yield "leaky_relu", lambda x, y, c: nn.leaky_relu(x, 0.5)
    yield (
        "prelu",
        lambda x, y, c: relay.reshape(
            nn.prelu(relay.reshape(x, (1, -1)), relay.reshape(y, (-1,))), (-1,)
        ),
    )
    yield "max", lambda x, y, c: relay.max(_beside(x, y), 1)
    yield "min", lambda x, y, c: relay.min(_beside(x, y), 1)
    yield (
        "max_pool2d",
        lambda x, y, c: nn.max_pool2d(
            relay.reshape(_beside(x, y), (1, 1, -1, 2)), (1, 2), (1, 2)
        ),
    )
    yield (
        "adaptive_max_pool1d",
        lambda x, y, c: nn.adaptive_max_pool1d(
            relay.reshape(_beside(x, y), (1, -1, 2)), 1
        ),
    )
    yield "argmax", lambda x, y, c: relay.argmax(_beside(x, y), 1)


def _beside(x: Expr, y: Expr) -> Expr:
    """Return the pairs of elements."""
    which = relay.const(np.array([True, False]))
    return relay.where(which, relay.expand_dims(x, 1), relay.expand_dims(y, 1))


def beside_constants() -> Iterator[tuple[str, Build]]:
    """Yield operators on a constant and a tensor, each on each side."""
    simple = itertools.product((*ARITHMETIC, "maximum", "minimum"), VALUES)
    for name, value in itertools.chain(simple, itertools.product(OTHERS, FEW)):
        build = getattr(relay, name)
        yield f"{name}(x, {value})", lambda x, y, c, b=build, v=value: b(x, c(v))
        yield f"{name}({value}, x)", lambda x, y, c, b=build, v=value: b(c(v), x)
    for name in ARITHMETIC:
        build = getattr(relay, name)
        for make in (relay.zeros_like, relay.ones_like):
            made = make.__name__
            yield f"{name}(x, {made})", lambda x, y, c, b=build, m=make: b(x, m(y))
            yield f"{name}({made}, x)", lambda x, y, c, b=build, m=make: b(m(y), x)
        for value in (-0.0, 1.0, np.nan):
            yield (
                f"{name}(x, full_like {value})",
                lambda x, y, c, b=build, v=value: b(x, relay.full_like(y, c(v))),
            )


def twice() -> Iterator[tuple[str, Build]]:
    """Yield operators one after the other, with constants: what could be joined."""
    values = (0.0, -0.0, 1.0, 2.0, 1e-30, 1e30, np.inf)
    for outer, inner in itertools.product(ARITHMETIC, ARITHMETIC):
        first, second = getattr(relay, inner), getattr(relay, outer)
        for one, other in itertools.product(values, values):
            yield (
                f"{outer}({inner}(x, {one}), {other})",
                lambda x, y, c, f=first, s=second, a=one, b=other: s(f(x, c(a)), c(b)),
            )


REWRITTEN: dict[str, Build] = {
    "x + x": lambda x, y, c: x + x,
    "x - x": lambda x, y, c: x - x,
    "x / x": lambda x, y, c: x / x,
    "-(-x)": lambda x, y, c: relay.negative(-x),
    "0 - x": lambda x, y, c: c(0.0) - x,
    "1 / sqrt(x)": lambda x, y, c: c(1.0) / relay.sqrt(x),
    "3 / sqrt(x)": lambda x, y, c: c(3.0) / relay.sqrt(x),
    "x / sqrt(0 * x)": lambda x, y, c: x / relay.sqrt(c(0.0) * x),
    "1 / relu(x)": lambda x, y, c: c(1.0) / nn.relu(x),
    "1 / max(x, 0)": lambda x, y, c: c(1.0) / relay.maximum(x, c(0.0)),
    "1 / min(0, x)": lambda x, y, c: c(1.0) / relay.minimum(c(0.0), x),
    "x / (y + 1) * (y + 1)": lambda x, y, c: x / (y + c(1.0)) * (y + c(1.0)),
    "x * y + x": lambda x, y, c: relay.subtract(x * y, x),
    "1 / -(x * 0)": lambda x, y, c: c(1.0) / -(x * c(0.0)),
    "not x < y": lambda x, y, c: relay.logical_not(relay.less(x, y)),
    "x <= y or y < x": lambda x, y, c: relay.logical_or(
        relay.less_equal(x, y), relay.less(y, x)
    ),
    "x == x": lambda x, y, c: relay.equal(x, x),
    "x == y ? x : y": lambda x, y, c: relay.where(relay.equal(x, y), x, y),
    "0.0 and -0.0": lambda x, y, c: x / c(0.0) + x / c(-0.0),
    "x * zeros": lambda x, y, c: x * relay.zeros(_shape(x), _dtype(x)),
    "x / zeros": lambda x, y, c: x / relay.zeros(_shape(x), _dtype(x)),
    "x / ones": lambda x, y, c: x / relay.ones(_shape(x), _dtype(x)),
    "x + full": lambda x, y, c: x + relay.full(c(-0.0), _shape(x), _dtype(x)),
    "zeros / zeros": lambda x, y, c: c(0.0) / c(0.0) * x,
    "clip of clip": lambda x, y, c: relay.clip(relay.clip(x, -1, 6), 0, 9),
    "cast of cast": lambda x, y, c: relay.cast(relay.cast(x, "float64"), "float32"),
    "cast there and back": lambda x, y, c: relay.cast(
        relay.cast(x, "int32"), _dtype(x)
    ),
    "cast of a cast to bool": lambda x, y, c: relay.cast(
        relay.cast(x, "bool"), _dtype(x)
    ),
    "cast to its dtype": lambda x, y, c: relay.cast(x, _dtype(x)),
    "cast_like": lambda x, y, c: relay.cast_like(x, y) + y,
    "reshape of reshape": lambda x, y, c: relay.reshape(
        relay.reshape(x, (3, -1)), (-1,)
    ),
    "reshape_like": lambda x, y, c: (
        relay.reshape_like(relay.reshape(x, (3, -1)), y) * y
    ),
    "reverse_reshape": lambda x, y, c: relay.reverse_reshape(
        relay.reshape(x, (3, -1)), (-1,)
    ),
    "transpose of transpose": lambda x, y, c: relay.transpose(
        relay.transpose(relay.reshape(x, (3, -1)))
    ),
    "layout of layout": lambda x, y, c: relay.layout_transform(
        relay.layout_transform(relay.reshape(x, (1, 3, 1, -1)), "NCHW", "NHWC"),
        "NHWC",
        "NCHW",
    ),
    "broadcast_to_like": lambda x, y, c: relay.broadcast_to_like(c(-0.0), x) * y,
    "collapse_sum_like": lambda x, y, c: relay.collapse_sum_like(x, y) * y,
    "bias_add": lambda x, y, c: nn.bias_add(relay.reshape(x, (1, -1)), y),
    "two of a sum": lambda x, y, c: (x + y) * (x + y),
    "two casts": lambda x, y, c: (
        (relay.cast(x, "float64") + relay.cast(y, "float64")) * relay.cast(x, "float64")
    ),
}


def _shape(x: Expr) -> tuple[int, ...]:
    assert isinstance(x, Var)
    assert isinstance(x.type_annotation, TensorType)
    return x.type_annotation.concrete_shape


def _dtype(x: Expr) -> str:
    assert isinstance(x, Var)
    assert isinstance(x.type_annotation, TensorType)
    return x.type_annotation.dtype


PROGRAMS: dict[str, Build] = {
    **dict(operators()),
    **dict(activations()),
    **REWRITTEN,
    **dict(beside_constants()),
}


class Programs:
    """Programs in a dtype, all in one module, and what they mean.

    Attributes:
        mod: The module, typed; its results are those of the programs.
        names: Of the programs, in that order.
        values: What the interpreter computes.
    """

    def __init__(self, builds: Mapping[str, Build], dtype: str) -> None:
        self.given = pairs(dtype)
        self.dtype, self.names = dtype, [*builds]
        kind = numpy_dtype(dtype)
        x, y = (
            relay.var(name, shape=self.given[0].shape, dtype=dtype) for name in "xy"
        )

        def constant(value: float) -> Constant:
            with np.errstate(over="ignore"):
                return relay.const(np.array(value).astype(kind))

        fields = tuple(build(x, y, constant) for build in builds.values())
        self.mod = InferType()(IRModule.from_expr(Function([x, y], Tuple(fields))))
        self.values = self.interpreted(self.mod)

    def interpreted(self, mod: IRModule) -> list[Array]:
        """Return what the interpreter computes for the module as it was rewritten."""
        return [*evaluate(mod["main"], [*self.given], mod)]

    def compiled(self, level: int, target: str = "llvm") -> list[Array]:
        """Return what machine code computes that a level made."""
        with tvm.transform.PassContext(opt_level=level):
            library = relay.build(self.mod, target=target, workers=0, cache=False)
        # Other processors may have no casts to half floats.
        assert target != "llvm" or not library.numpy_functions
        run = GraphModule(library["default"](tvm.cpu()))
        for name, one in zip("xy", self.given, strict=True):
            run.set_input(name, one)
        run.run()
        return [run.get_output(at).numpy() for at in range(len(self.names))]

    def assert_same(
        self, found: Sequence[Array], digits_off: Mapping[str, float] | None = None
    ) -> None:
        """Compare results with what the programs mean, to the bit or as near."""
        for name, one, other in zip(self.names, found, self.values, strict=True):
            digits = (digits_off or {}).get(name.partition("(")[0], 0)
            if digits and one.dtype == numpy_dtype(self.dtype):
                assert_near(one, other, digits, name)
            else:
                assert_same_bits(one, other, name)


def assert_near(found: Array, wanted: Array, digits: float, told: str) -> None:
    """Compare results whose last digits may differ, to the bit where there are none."""
    dtype, exact = wanted.dtype.name, wanted.astype("float64")
    plain = np.isfinite(exact) & (exact != 0)
    assert_same_bits(found[~plain], wanted[~plain], told)
    digits, last = digits if computed_in(dtype) == dtype else 1, LAST_DIGIT[dtype]
    bound = digits * last * (np.abs(exact[plain]) + float_range(dtype)[0])
    assert (np.abs(found[plain].astype("float64") - exact[plain]) <= bound).all(), told


# Of these operators the last digits are not promised, as docs/machine-code.md says:
# machine code has polynomials, or C's functions, where the interpreter has numpy's.
# Their zeros, infinities and NaN are the same.
LAST_DIGITS = {name: TOLERANCE[name] for name in PROGRAMS if name in TOLERANCE}


@functools.cache
def programs(dtype: str) -> Programs:
    return Programs(PROGRAMS, dtype)


@pytest.mark.slow
@at_times(
    "dtype, level",
    [("float32", 0), ("float64", 3)],
    sorted({*itertools.product(FLOATS, range(5))} - {("float32", 0), ("float64", 3)}),
)
def test_machine_code_computes_floats_as_the_interpreter(
    dtype: str, level: int
) -> None:
    made = programs(dtype)
    made.assert_same(made.compiled(level), LAST_DIGITS)


PASSES: dict[str, Pass] = {
    **{type(one).__name__: one for one in default_pipeline(4).passes if one},
    "DefaultPipeline": default_pipeline(3),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_changes_no_float(name: str, dtype: str) -> None:
    made = programs(dtype)
    made.assert_same(made.interpreted(PASSES[name](made.mod)))


@pytest.mark.stress
@pytest.mark.parametrize("target", [PLAIN, f"{PLAIN} -mattr=+avx2,+fma"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_processors_of_other_kinds_do_so_as_well(dtype: str, target: str) -> None:
    made = programs(dtype)
    made.assert_same(made.compiled(2, target), LAST_DIGITS)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_one_after_the_other_are_not_joined(dtype: str) -> None:
    made = Programs(dict(twice()), dtype)
    made.assert_same(made.interpreted(PASSES["DefaultPipeline"](made.mod)))
    made.assert_same(made.compiled(3))


def rules_of(programs: Programs) -> Iterator[tuple[tuple[str, int], int]]:
    """Yield each rule of SimplifyExpr and how often it applies; no value changes."""
    function = programs.mod["main"]
    for name, rules in simplify_expr.RULES.items():
        for at, rule in enumerate(rules):
            with Evaluator(function) as evaluator:
                peephole = Peephole({name: [rule]}, evaluator, programs.mod)
                mod = IRModule.from_expr(peephole.run(function))
            programs.assert_same(programs.interpreted(mod))
            yield (name, at), peephole.applied


# Those that put constants, or limits, of ints together.
OF_INTS = {("add", 3), ("multiply", 2), ("multiply", 3), ("clip", 0), ("clip", 1)}


@pytest.mark.slow
def test_every_rule_of_simplify_expr_is_tried_on_floats() -> None:
    applied = dict(rules_of(programs("float32")))
    assert {rule for rule, count in applied.items() if not count} == OF_INTS


def test_the_page_tells_what_each_pass_does_to_floats() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## What the passes do to floats")
    named = set(re.findall(r"\w+", page[2].partition("\n## ")[0]))
    segments = {"OutlineSegments", "InlineSegments"}  # which move code
    assert PASSES.keys() - {"DefaultPipeline"} - segments <= named


def test_another_formula_of_batch_norm_keeps_nan_and_infinities() -> None:
    data, _ = pairs("float32")
    scale, shift, mean, variance = (
        relay.const(np.array([one], "float32")) for one in (-3.0, 0.5, 2.0, 4.0)
    )
    x = relay.var("x", shape=(len(data), 1))
    normal = nn.batch_norm(x, scale, shift, mean, variance)[0]
    mod = InferType()(IRModule.from_expr(Function([x], normal)))
    wanted: Any = evaluate(mod["main"], [data[:, None]], mod)
    for name in ("SimplifyInference", "DefaultPipeline"):
        other = PASSES[name](mod)
        found: Any = evaluate(other["main"], [data[:, None]], other)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
