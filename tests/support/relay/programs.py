"""Hypothesis strategies for programs: well-formed, well-typed, and quick to evaluate.

Tensors have one shape and a few dtypes, also narrow ones; what broadcasts to the shape
and what is reduced and broadcast again stands between them. A program may have lets,
ifs, also in conditions, tuples, projections, closures called in place, constants, calls
of other functions of its module (never in a circle), and values that are shared, also
between scopes.
`tests.support.relay.higher_order` has programs with closures as values, and recursion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import FuncType, TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from parpass.runtime.dtypes import float_range, numpy_dtype
from tests.support.relay.op.calls import Array

SHAPE = (2, 3)
# Most values have one dtype, so that they are used in each other.
_DTYPES = (
    *("float32", "float32", "float32", "float32"),
    *("int32", "float64", "int64", "float16", "bfloat16"),
)
TENSORS = [TensorType(SHAPE, dtype) for dtype in _DTYPES]
BOOL = TensorType((), "bool")

_UNARY = ["negative", "abs", "copy"]
_BINARY = ["add", "subtract", "multiply", "maximum", "minimum"]
_REDUCTIONS = [op.sum, op.max, op.min, op.mean]

# The same values, lying otherwise.
LAYOUTS: list[Callable[[Array], Array]] = [
    lambda a: a,
    lambda a: a,
    lambda a: a.copy(order="F"),
    lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
    lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    lambda a: a.astype(a.dtype.newbyteorder("S")),
]

Typed = tuple[Expr, Type]
Step = Callable[[Sequence[Typed], int], Typed]


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """Give functions without free variables that call no others."""
    return Writer(draw).function(depth=2)


@st.composite
def expressions(draw: st.DrawFn) -> Expr:
    """Give expressions, most of them with free variables."""
    return Writer(draw).function(depth=2).body


@st.composite
def modules(draw: st.DrawFn, max_functions: int = 6) -> IRModule:
    """Give modules of functions that may call those before them."""
    module = IRModule()
    callees: list[tuple[GlobalVar, FuncType]] = []
    for number in range(draw(st.integers(1, max_functions))):
        function = Writer(draw, callees).function(depth=1)
        name = GlobalVar(f"f{number}")
        module[name] = function
        assert function.annotated_type is not None
        callees.append((name, function.annotated_type))
    return module


def arguments(
    function: Function, seed: int = 0, *, extreme: bool = False
) -> list[Array]:
    """Return arguments that a generated function may be called on.

    Args:
        function: The function.
        seed: Which ones.
        extreme: Whether they go to the ends of their dtypes, and beyond numbers.
    """
    values = np.random.default_rng(seed)
    choose = _extreme if extreme else _random
    return [choose(values, param.type_annotation) for param in function.params]


def _random(values: np.random.Generator, type_: Type | None) -> Array:
    assert isinstance(type_, TensorType)
    found = values.integers(-3, 4, type_.concrete_shape)
    return found.astype(numpy_dtype(type_.dtype))


def _extreme(values: np.random.Generator, type_: Type | None) -> Array:
    assert isinstance(type_, TensorType)
    dtype = numpy_dtype(type_.dtype)
    if not type_.shape:
        return _random(values, type_)  # it may be how often a program calls itself
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        pool = np.array([limits.min, limits.max, limits.min + 1, 0, 1, -1], dtype)
    elif dtype.kind == "b":
        pool = np.array([True, False])
    else:
        least, most = float_range(type_.dtype)
        odd = [0.0, -0.0, least, -most, most, np.inf, -np.inf, np.nan, 0.1]
        pool = np.array(odd).astype(dtype)
    return pool[values.integers(0, len(pool), type_.concrete_shape)]


def call_op(name: str, *args: Expr) -> Call:
    """Return a call of an operator that has no attributes."""
    return Call(Op.get(name), args)


@dataclass
class Writer:
    """Writes one function; `draw` makes the choices."""

    draw: st.DrawFn
    callees: Sequence[tuple[GlobalVar, FuncType]] = ()
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def function(self, depth: int, outer: Sequence[Typed] = ()) -> Function:
        types = self.draw(
            st.lists(st.sampled_from([*TENSORS, BOOL]), min_size=1, max_size=3)
        )
        params = tuple(self.variable(type_) for type_ in types)
        result = self.any_type()
        values = [*outer, *zip(params, types, strict=True)]
        return Function(params, self.block(values, result, depth), result)

    def block(self, outer: Sequence[Typed], result: Type, depth: int) -> Expr:
        """Return an expression of type `result` over the values of outer blocks."""
        values = list(outer)
        lets: list[tuple[Var, Expr]] = []
        for _ in range(self.draw(st.integers(1, 5))):
            expr, type_ = self.step(values, depth)
            if self.binds(expr):
                var = self.variable(type_)
                lets.append((var, expr))
                expr = var
            values.append((expr, type_))
        body = self.value(result, values)
        for var, value in reversed(lets):
            body = Let(var, value, body)
        return body

    def binds(self, _expr: Expr) -> bool:
        """Return whether a `let` is to bind a value that was made."""
        return self.draw(st.booleans())

    def step(self, values: Sequence[Typed], depth: int) -> Typed:
        """Return another value, made of those that there are."""
        return self.draw(st.sampled_from(self.steps(values, depth)))(values, depth)

    def steps(self, _values: Sequence[Typed], depth: int) -> list[Step]:
        """Return the ways to make another value."""
        steps: list[Step] = [self.unary, self.binary, self.tuple_, self.projection]
        steps += [self.broadcast, self.reduction, self.condition, self.let_in_place]
        if depth:
            steps += [self.if_, self.closure_call]
        if self.callees:
            steps.append(self.global_call)
        return steps

    def unary(self, values: Sequence[Typed], _depth: int) -> Typed:
        type_ = self.draw(st.sampled_from(TENSORS))
        name = self.draw(st.sampled_from(_UNARY))
        return call_op(name, self.value(type_, values)), type_

    def binary(self, values: Sequence[Typed], _depth: int) -> Typed:
        type_ = self.draw(st.sampled_from(TENSORS))
        name = self.draw(st.sampled_from(_BINARY))
        args = [self.value(type_, values), self.value(type_, values)]
        return call_op(name, *args), type_

    def broadcast(self, values: Sequence[Typed], _depth: int) -> Typed:
        type_ = self.draw(st.sampled_from(TENSORS))
        shape = self.draw(st.sampled_from([(), (1,), (3,), (2, 1), (1, 3), (1, 1)]))
        args = [self.value(type_, values), self.constant(type_, shape)]
        if self.draw(st.booleans()):
            args.reverse()
        return call_op(self.draw(st.sampled_from(_BINARY)), *args), type_

    def reduction(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return a value with one that is reduced, broadcast to its shape."""
        type_ = self.draw(st.sampled_from(TENSORS))
        reduce = self.draw(st.sampled_from(_REDUCTIONS))
        axis = self.draw(st.sampled_from([None, 0, 1, -1]))
        keepdims = axis in {1, -1} or self.draw(st.booleans())
        reduced = reduce(self.value(type_, values), axis, keepdims)
        args = [self.value(type_, values), reduced]
        name = self.draw(st.sampled_from(["subtract", "maximum"]))
        return call_op(name, *self.draw(st.permutations(args))), type_

    def condition(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return a scalar that an `if` may ask for."""
        type_ = self.draw(st.sampled_from(TENSORS))
        reduced = op.max(self.value(type_, values))
        return op.less(reduced, self.constant(type_, ())), BOOL

    def tuple_(self, values: Sequence[Typed], _depth: int) -> Typed:
        types = self.draw(st.lists(st.sampled_from(TENSORS), min_size=1, max_size=3))
        fields = tuple(self.value(type_, values) for type_ in types)
        return Tuple(fields), TupleType(tuple(types))

    def projection(self, values: Sequence[Typed], depth: int) -> Typed:
        tuples = [value for value in values if isinstance(value[1], TupleType)]
        expr, type_ = (
            self.draw(st.sampled_from(tuples)) if tuples else self.tuple_(values, depth)
        )
        assert isinstance(type_, TupleType)
        index = self.draw(st.integers(0, len(type_.fields) - 1))
        return TupleGetItem(expr, index), type_.fields[index]

    def let_in_place(self, values: Sequence[Typed], depth: int) -> Typed:
        """Return a `let` that may stand anywhere; nothing says its variable's type."""
        value, bound = self.step(values, max(depth - 1, 0))
        var = Var(f"v{next(self.numbers)}")
        result, type_ = self.unary([*values, (var, bound)], 0)
        return Let(var, value, result), type_

    def if_(self, values: Sequence[Typed], depth: int) -> Typed:
        type_ = self.any_type()
        true, false = (self.block(values, type_, depth - 1) for _ in range(2))
        cond = self.value(BOOL, values)
        if self.draw(st.integers(0, 3)) == 0:
            tested, known = self.block(values, BOOL, 0), self.value(BOOL, values)
            cond = If(cond, tested, known)
        return If(cond, true, false), type_

    def closure_call(self, values: Sequence[Typed], depth: int) -> Typed:
        closure = self.function(depth - 1, values)
        assert closure.ret_type is not None
        args = [self.value(param.type_annotation, values) for param in closure.params]
        return Call(closure, tuple(args)), closure.ret_type

    def global_call(self, values: Sequence[Typed], _depth: int) -> Typed:
        callee, type_ = self.draw(st.sampled_from(self.callees))
        args = [self.value(arg, values) for arg in type_.arg_types]
        return Call(callee, tuple(args)), type_.ret_type

    def value(self, type_: Type | None, values: Sequence[Typed]) -> Expr:
        """Return one of the values of a type, or a new constant."""
        fitting = [expr for expr, its_type in values if its_type == type_]
        if fitting and self.draw(st.integers(0, 5)):
            return self.draw(st.sampled_from(fitting[-4:]))
        if isinstance(type_, TupleType):
            return Tuple(tuple(self.value(field, values) for field in type_.fields))
        return self.constant(type_)

    def constant(
        self, type_: Type | None, shape: tuple[int, ...] | None = None
    ) -> Constant:
        assert isinstance(type_, TensorType)
        dims = type_.concrete_shape if shape is None else shape
        odd = [-0.0, 0.5, -1.5]
        if type_.dtype == "bool" or not type_.shape:
            odd = []  # a scalar may be how often a program calls itself
        elif "int" in type_.dtype:
            limits = np.iinfo(type_.dtype)
            odd = [int(limits.min), int(limits.max), -1]
        number = self.draw(st.sampled_from([0, 1, 2, 1, 2, *odd]))
        values = np.full(dims, number, numpy_dtype(type_.dtype))
        if dims and self.draw(st.booleans()):
            steps = np.arange(values.size).reshape(dims) % 2
            values += steps.astype(values.dtype)
        return const(self.draw(st.sampled_from(LAYOUTS))(values))

    def variable(self, type_: Type) -> Var:
        return Var(f"v{next(self.numbers)}", type_)

    def any_type(self) -> Type:
        tensors = st.sampled_from(TENSORS)
        pairs = st.tuples(tensors, tensors).map(TupleType)
        return self.draw(st.one_of(tensors, pairs))


@dataclass
class EffectfulWriter(Writer):
    """Writes functions in which a `let` binds whatever has an effect."""

    def binds(self, expr: Expr) -> bool:
        """Return whether a `let` is to bind a value that was made."""
        return not Effects().is_pure(expr) or super().binds(expr)
