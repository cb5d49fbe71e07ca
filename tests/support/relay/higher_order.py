"""A Hypothesis strategy for programs with all that Relay has, to test passes on.

Besides what `tests.support.relay.programs` generates, functions are values here: bound
by `let`, passed to closures and to globals, returned, kept in tuples; references to
globals are, too. Closures and globals are recursive, globals mutually as well; each
counts a scalar down and stops at zero, so that every program ends.

A shipped pass is tested on them by a line in `PASSES` of
`tests/relay/transform/test_all_passes.py`. Another pass, in its own test:

    from tests.support.relay.higher_order import higher_order_modules
    from tests.support.relay.meaning import assert_keeps_meaning

    @pytest.mark.slow
    @given(mod=higher_order_modules())
    @examples(1.5)
    def test_it_keeps_the_meaning(mod: IRModule) -> None:
        assert_keeps_meaning(MyPass(), mod)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from parpass.ir.module import IRModule
from parpass.ir.types import FuncType, TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Tuple, const
from tests.support.relay.programs import BOOL, TENSORS, Step, Typed, Writer, call_op

FUEL = TensorType((), "int32")
_F32 = TENSORS[0]
_ONE = FuncType((_F32,), _F32)
# Few types, so that functions meet callers: of one argument and of two, one that takes
# a function, and one that returns one.
FUNCTIONS = [
    _ONE,
    _ONE,
    FuncType((_F32, _F32), _F32),
    FuncType((_ONE, _F32), _F32),
    FuncType((_F32,), _ONE),
]


@st.composite
def higher_order_modules(draw: st.DrawFn, max_functions: int = 4) -> IRModule:
    """Give modules of one to `max_functions` functions `f0`, `f1`, ...

    A function calls those before it, itself, or its neighbour, which calls it. `f0`
    neither takes nor returns a function.
    """
    module = IRModule()
    callees: list[tuple[GlobalVar, FuncType]] = []
    wanted = draw(st.integers(1, max_functions))
    while len(module) < wanted:
        made = len(module)
        size = 2 if draw(st.integers(0, 4)) == 0 and made + 2 <= wanted else 1
        group = [GlobalVar(f"f{made + at}") for at in range(size)]
        writer = HigherOrderWriter(draw, tuple(callees))
        if size == 2 or draw(st.integers(0, 3)) == 0:
            type_ = writer.counting_type()
            functions = [writer.counting_down(var, type_, (), 1) for var in group[::-1]]
        else:
            functions = [writer.global_function(is_first=not made)]
        for var, function in zip(group, functions, strict=True):
            module[var] = function
            assert function.annotated_type is not None
            callees.append((var, function.annotated_type))
    return module


@dataclass
class HigherOrderWriter(Writer):
    """Writes functions that take, make, keep and return functions."""

    def global_function(self, *, is_first: bool) -> Function:
        """Return a function of a module."""
        if is_first or self.draw(st.booleans()):
            return self.function(depth=2)
        return self.of_type(self.draw(st.sampled_from(FUNCTIONS)), (), depth=1)

    def steps(self, values: Sequence[Typed], depth: int) -> list[Step]:
        """Return the ways to make another value."""
        steps = super().steps(values, depth)
        if depth:
            steps += [*[self.closure] * 3, self.loop, self.loop]
        if any(isinstance(type_, FuncType) for _, type_ in values):
            steps += [*[self.apply] * 5, self.kept]
        return steps

    def closure(self, values: Sequence[Typed], depth: int) -> Typed:
        """Return a function that uses the values around it."""
        type_ = self.draw(st.sampled_from(FUNCTIONS))
        return self.of_type(type_, values, depth - 1), type_

    def of_type(self, type_: FuncType, outer: Sequence[Typed], depth: int) -> Function:
        """Return a function of a given type."""
        params = tuple(self.variable(arg) for arg in type_.arg_types)
        inside = [*outer, *zip(params, type_.arg_types, strict=True)]
        body = self.block(inside, type_.ret_type, depth)
        return Function(params, body, type_.ret_type)

    def apply(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return a call of a value that is a function."""
        callees = [(e, t) for e, t in values if isinstance(t, FuncType)]
        callee, type_ = self.draw(st.sampled_from(callees))
        args = tuple(self.value(arg, values) for arg in type_.arg_types)
        return Call(callee, args), type_.ret_type

    def kept(self, values: Sequence[Typed], _depth: int) -> Typed:
        """Return a tuple with a function in it."""
        callees = [(e, t) for e, t in values if isinstance(t, FuncType)]
        callee, type_ = self.draw(st.sampled_from(callees))
        return Tuple((callee, self.value(_F32, values))), TupleType((type_, _F32))

    def loop(self, values: Sequence[Typed], depth: int) -> Typed:
        """Return a closure that calls itself, bound and called."""
        type_ = self.counting_type()
        itself = self.variable(type_)
        function = self.counting_down(itself, type_, values, depth - 1)
        args = tuple(self.value(arg, values) for arg in type_.arg_types)
        return Let(itself, function, Call(itself, args)), type_.ret_type

    def counting_type(self) -> FuncType:
        """Return the type of a function that counts its first argument down."""
        rest = self.draw(st.lists(st.sampled_from(TENSORS), max_size=2))
        return FuncType((FUEL, *rest), self.any_type())

    def counting_down(
        self, callee: Expr, type_: FuncType, outer: Sequence[Typed], depth: int
    ) -> Function:
        """Return `fn(n, ...) { if n < 1 { ... } else { ... callee(n - 1, ...) } }`."""
        params = tuple(self.variable(arg) for arg in type_.arg_types)
        values = [*outer, *zip(params, type_.arg_types, strict=True)]
        base = self.block(values, type_.ret_type, depth)
        fewer = call_op("subtract", params[0], const(1))
        rest = (self.value(arg, values) for arg in type_.arg_types[1:])
        again = Call(callee, (fewer, *rest))
        more = self.block([*values, (again, type_.ret_type)], type_.ret_type, depth)
        body = If(call_op("less", params[0], const(1)), base, more)
        return Function(params, body, type_.ret_type)

    def value(self, type_: Type | None, values: Sequence[Typed]) -> Expr:
        """Return one of the values of a type, a global, or something new."""
        if not isinstance(type_, FuncType):
            return super().value(type_, values)
        known = [*values, *self.callees]
        fitting = [expr for expr, its_type in known if its_type == type_]
        if fitting and self.draw(st.integers(0, 5)):
            return self.draw(st.sampled_from(fitting))
        return self.of_type(type_, values, depth=0)


__all__ = ["BOOL", "FUEL", "FUNCTIONS", "HigherOrderWriter", "higher_order_modules"]
