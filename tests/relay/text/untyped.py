"""A Hypothesis strategy for programs of every shape, which need not have a type.

Each expression stands in each position: lets, matches, ifs and functions are called,
matched, bound and read from; parts are shared within the scope of their variables. The
programs are for what does not ask for types, such as texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from parpass.ir.adt import Constructor
from parpass.ir.attrs import DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import (
    FuncType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from parpass.relay import op
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from tests.support.relay.adts import CONS, LIST, LIST_DATA, NIL
from tests.support.relay.matching import EITHER, EITHER_DATA, LEFT, RIGHT

_NAMES = st.sampled_from(["x", "x", "a", "x_1", "0", "let", "f", "ref", "a b", ""])
_A = TypeVar("A")
_TYPES = [
    *(None, None, None, None, None, None, TensorType((), "float32")),
    *(TensorType((2,), "int8"), RelayRefType(TensorType(())), TupleType(())),
    FuncType((TensorType(()),), TupleType((TensorType(()),))),
]
_GLOBALS = (GlobalVar("f0"), GlobalVar("a.b"))
_LEAVES = [
    *(const(1.0), const(-2), const(True), const([1.0, 2.0]), const(-0.0, "float16")),
    *(*_GLOBALS, Op.get("negative")),
]
_CONSTRUCTORS = [CONS, NIL, LEFT]
_DATA_TYPES = [None, LIST(TensorType(()))]
_Scope: TypeAlias = Sequence[Expr]


@st.composite
def untyped_modules(draw: st.DrawFn) -> IRModule:
    """Give modules of two functions that may call each other."""
    writer = _Writer(draw)
    functions = {name: writer.function((), 4) for name in _GLOBALS}
    return IRModule(functions, {LIST: LIST_DATA, EITHER: EITHER_DATA})


@st.composite
def untyped_exprs(draw: st.DrawFn) -> Expr:
    """Give expressions without data types, of which some variables are free."""
    free = [Var("x"), Var("y", TensorType((2,), "int8"))]
    return _Writer(draw, has_data_types=False).expr([*free, const(1.0)], 4)


@dataclass
class _Writer:
    """Writes expressions over the values of a scope; `draw` makes the choices."""

    draw: st.DrawFn
    has_data_types: bool = True

    def expr(self, scope: _Scope, depth: int) -> Expr:
        if depth <= 0 or self.draw(st.integers(0, 5)) == 0:
            made = _CONSTRUCTORS if self.has_data_types else ()
            return self.draw(st.sampled_from([*_LEAVES, *made, *scope, *scope]))
        ways = [*_WAYS, _Writer.construction] if self.has_data_types else _WAYS
        return self.draw(st.sampled_from(ways))(self, scope, depth - 1)

    def several(self, scope: _Scope, depth: int, most: int = 2) -> tuple[Expr, ...]:
        count = self.draw(st.integers(0, most))
        return tuple(self.expr(scope, depth) for _ in range(count))

    def variable(self) -> Var:
        return Var(self.draw(_NAMES), self.type())

    def type(self) -> Type | None:
        """Return a type, most often none."""
        others = _DATA_TYPES if self.has_data_types else ()
        return self.draw(st.sampled_from([*_TYPES, *others]))

    def operator_call(self, scope: _Scope, depth: int) -> Expr:
        a, b = self.expr(scope, depth), self.expr(scope, depth - 1)
        choices = [op.negative(a), op.add(a, b), op.clip(a, -1.0, 2.5)]
        return self.draw(st.sampled_from(choices))

    def call(self, scope: _Scope, depth: int) -> Expr:
        callee, args = self.expr(scope, depth), self.several(scope, depth - 1)
        if isinstance(callee, Op):
            return Call(callee, (self.expr(scope, depth - 1),))
        types = [self.type() for _ in range(self.draw(st.integers(0, 2)))]
        attrs = self.draw(st.sampled_from([None, None, DictAttrs({"k": 1})]))
        given = [one for one in types if one is not None]
        return Call(callee, args, attrs, given)

    def tuple_(self, scope: _Scope, depth: int) -> Expr:
        return Tuple(self.several(scope, depth, 3))

    def projection(self, scope: _Scope, depth: int) -> Expr:
        return TupleGetItem(self.expr(scope, depth), self.draw(st.integers(0, 2)))

    def let(self, scope: _Scope, depth: int) -> Expr:
        var = self.variable()
        is_recursive = self.draw(st.integers(0, 3)) == 0
        if is_recursive:
            value: Expr = self.function([*scope, var], depth)
        else:
            value = self.expr(scope, depth)
        return Let(var, value, self.expr([*scope, var], depth))

    def shared(self, scope: _Scope, depth: int) -> Expr:
        part = self.expr(scope, depth)
        return self.expr([*scope, part, part], depth)

    def if_(self, scope: _Scope, depth: int) -> Expr:
        true, false = self.expr(scope, depth), self.expr(scope, depth)
        return If(self.expr(scope, depth - 1), true, false)

    def function(self, scope: _Scope, depth: int) -> Function:
        params = tuple(self.variable() for _ in range(self.draw(st.integers(0, 2))))
        body = self.expr([*scope, *params], depth)
        attrs = self.draw(st.sampled_from([None, None, DictAttrs({"k": [True]})]))
        type_params = self.draw(st.sampled_from([(), (), (_A,)]))
        result = _A if type_params else self.type()
        return Function(params, body, result, type_params, attrs)

    def reference(self, scope: _Scope, depth: int) -> Expr:
        first, second = self.expr(scope, depth), self.expr(scope, depth - 1)
        choices = [RefCreate(first), RefRead(first), RefWrite(first, second)]
        return self.draw(st.sampled_from(choices))

    def match_(self, scope: _Scope, depth: int) -> Expr:
        clauses: list[Clause] = []
        for _ in range(self.draw(st.integers(0, 3))):
            bound: list[Expr] = []
            pattern = self.pattern(bound, 2)
            clauses.append(Clause(pattern, self.expr([*scope, *bound], depth)))
        data = self.expr(scope, depth - 1)
        return Match(data, clauses, complete=self.draw(st.booleans()))

    def pattern(self, bound: list[Expr], depth: int) -> Pattern:
        """Return a pattern; the variables that it binds are added to `bound`."""
        deepest = 2 + self.has_data_types
        kind = self.draw(st.integers(0, deepest if depth else 1))
        if kind == 0:
            return PatternWildcard()
        if kind == 1:
            var = self.variable()
            bound.append(var)
            return PatternVar(var)
        if kind == 2:
            size = self.draw(st.integers(0, 2))
            inside = [self.pattern(bound, depth - 1) for _ in range(size)]
            return PatternTuple(inside)
        head = self.draw(st.sampled_from([CONS, NIL, LEFT, RIGHT]))
        inside = [self.pattern(bound, depth - 1) for _ in head.inputs]
        return PatternConstructor(head, inside)

    def construction(self, scope: _Scope, depth: int) -> Expr:
        head: Constructor = self.draw(st.sampled_from([CONS, NIL, LEFT, RIGHT]))
        args = tuple(self.expr(scope, depth) for _ in head.inputs)
        types = self.draw(st.sampled_from([(), (TensorType(()),)]))
        return Call(head, args, None, types)


_WAYS = [
    *(_Writer.operator_call, _Writer.call, _Writer.reference),
    *(_Writer.tuple_, _Writer.projection, _Writer.let, _Writer.let, _Writer.shared),
    *(_Writer.if_, _Writer.match_, _Writer.function),
]
